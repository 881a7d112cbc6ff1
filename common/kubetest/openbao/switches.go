// SPDX-License-Identifier: Apache-2.0

package openbao

import "time"

// Seal makes every call but sys/health answer 503 until Unseal.
func (s *Server) Seal() { s.set(func() { s.sealed = true }) }

// Unseal undoes Seal.
func (s *Server) Unseal() { s.set(func() { s.sealed = false }) }

// StandBy makes the server a standby that knows no active node, until Activate.
func (s *Server) StandBy() { s.set(func() { s.standby = true }) }

// Activate undoes StandBy.
func (s *Server) Activate() { s.set(func() { s.standby = false }) }

// Deny answers 403 on a path such as "auth/approle/login", whatever the token, until Allow.
func (s *Server) Deny(path string) { s.set(func() { s.denied[path] = true }) }

// Allow undoes Deny.
func (s *Server) Allow(path string) { s.set(func() { delete(s.denied, path) }) }

// Delay holds every answer for d.
func (s *Server) Delay(d time.Duration) { s.set(func() { s.delay = d }) }

// BlackHole accepts connections and calls and answers none of them until Answer.
func (s *Server) BlackHole() {
	s.set(func() {
		if s.blackHole == nil {
			s.blackHole = make(chan struct{})
		}
	})
}

// Answer undoes BlackHole: calls that are still held are answered now.
func (s *Server) Answer() {
	s.set(func() {
		if s.blackHole != nil {
			close(s.blackHole)
			s.blackHole = nil
		}
	})
}

// OpenSessions counts the tokens that a login issued and nobody revoked.
func (s *Server) OpenSessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := 0
	for _, t := range s.tokens {
		if t.session && !t.expired(s.clock()) {
			open++
		}
	}
	return open
}

// RevokeSessions ends every token that a login issued.
func (s *Server) RevokeSessions() {
	s.set(func() {
		for id, t := range s.tokens {
			if t.session {
				delete(s.tokens, id)
			}
		}
	})
}

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}
