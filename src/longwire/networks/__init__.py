"""WHAT NETWORKS SAY: one file for each network, a pure function from its message to what it means.

Owns the spelling of other people's messages: their names, their times, their encodings, what they
leave out. Uses `errors` and `clock` only. Never knows which devices there are, who sends, what time
it is, or how a record is stored; never raises anything but `InvalidMessage` for what came from outside.

Adding a network is adding its file. `base.py` says what it answers, `bodies.py` reads what all of
them write, `readings.py` makes readings that fit their records, `lorawan.py` is for those that have
their radio in common.
"""
