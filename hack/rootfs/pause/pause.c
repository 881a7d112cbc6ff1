// SPDX-License-Identifier: Apache-2.0
//
// The first process of a pod: it holds the namespaces, collects orphans, and leaves when told to.
#include <signal.h>
#include <sys/wait.h>

int main(void) {
	sigset_t awaited;
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	sigaddset(&awaited, SIGINT);
	sigaddset(&awaited, SIGTERM);
	sigprocmask(SIG_BLOCK, &awaited, 0);
	for (;;) {
		switch (sigwaitinfo(&awaited, 0)) {
		case SIGINT:
		case SIGTERM:
			return 0;
		case SIGCHLD:
			while (waitpid(-1, 0, WNOHANG) > 0)
				;
		}
	}
}
