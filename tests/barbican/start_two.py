# SPDX-License-Identifier: Apache-2.0
"""Starts the API twice, as two workers of one server or two pods do, and prints how many of the two came up.

Both have read the table of secret stores before either goes on, so what each writes for lack of a row meets what the other writes.
"""
import multiprocessing


def start(both):
    from barbican.api import app
    from barbican.model import repositories

    read = repositories.SecretStoresRepo.get_all

    def read_together(*args, **kwargs):
        rows = read(*args, **kwargs)
        both.wait(timeout=120)
        return rows

    repositories.SecretStoresRepo.get_all = read_together
    app.get_api_wsgi_script()


processes = multiprocessing.get_context("fork")
both = processes.Barrier(2)
starters = [processes.Process(target=start, args=(both,)) for _ in range(2)]
for starter in starters:
    starter.start()
for starter in starters:
    starter.join()
print(sum(starter.exitcode == 0 for starter in starters))
