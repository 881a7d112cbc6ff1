# SPDX-License-Identifier: Apache-2.0
"""Makes the projects, roles and users that the suites know. Runs in the pod of Keystone:

  barbican   in project service: the service user, which checks tokens and may keep secrets of its own
  demo       in project demo: may keep secrets
  stranger   in no project: may do nothing
"""
import functools
import json
import os
import urllib.error
import urllib.request

URL = "http://localhost:5000/v3"


class Refused(Exception):
    pass


def call(method, path, body=None, token=None):
    """Returns the headers and the answer."""
    headers = {"Content-Type": "application/json", **({"X-Auth-Token": token} if token else {})}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method), timeout=60) as answer:
            text = answer.read()
            return answer.headers, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        raise Refused(f"{method} {path}: HTTP {error.code}: {error.read()[:300].decode()}") from None


def log_in(name, password, project=None):
    """Returns a token, and the names of the roles that go with it."""
    user = {"name": name, "domain": {"id": "default"}, "password": password}
    scope = {"scope": {"project": {"name": project, "domain": {"id": "default"}}}} if project else {}
    headers, answer = call("POST", "/auth/tokens", {"auth": {
        "identity": {"methods": ["password"], "password": {"user": user}}, **scope}})
    return headers["X-Subject-Token"], {role["name"] for role in answer["token"].get("roles", [])}


@functools.cache
def admin():
    return log_in("admin", os.environ["OS_PASSWORD"], "admin")[0]


def ensure(kind, name, **fields):
    """Returns the id of what has this name, and makes it first when nothing has."""
    found = call("GET", f"/{kind}s?name={name}", token=admin())[1][f"{kind}s"]
    if not found:
        found = [call("POST", f"/{kind}s", {kind: {"name": name, **fields}}, admin())[1][kind]]
    return found[0]["id"]


def user(name, project=None, roles=()):
    password = os.environ[f"{name.upper()}_PASSWORD"]
    try:
        if log_in(name, password, project)[1] >= set(roles):
            return
    except Refused:
        pass
    made = ensure("user", name, password=password)
    for role in roles:
        call("PUT", f"/projects/{ensure('project', project)}/users/{made}/roles/{ensure('role', role)}", token=admin())
    # A user that was there has kept the password, since a change of it ends the user's tokens: it has to be this one.
    log_in(name, password, project)


user("barbican", "service", ["service", "member", "creator"])
user("demo", "demo", ["member", "creator"])
user("stranger")
