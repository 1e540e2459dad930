"""A process of longwire: what it is assembled of, how it starts, runs, reloads and stops.

Owns the wiring (`app`, `delivery_process`, `sign_in_stack`), the settings' way into it
(`app_config`), the opening of the database (`startup`), the background tasks (`maintenance`,
`supervisor`), and the process itself: sockets, locks, signals, exit codes (`serve`). Has no rules
of the domain, no SQL and no wire shapes. Commands load `startup` and `logs` alone, which are quick.
"""
