"""The demo: a harbour company whose devices, people and receivers are simulated.

`longwire demo` starts a service, seeds it and goes on sending, so that a newcomer sees every part
of it alive. Owns the company's plan, its physics, its receiver and its traffic. It is a client like
any other: it uses a running service by its HTTP API only, and imports nothing of it. `seeding.seed`
fills any empty service in the same way, for tests and screenshots.
"""
