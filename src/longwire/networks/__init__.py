"""Messages of networks: one file for each network, a pure function from a message to what it means.

Owns the formats of other systems: their field names, times, encodings, what they omit. Uses
`errors` and `clock` only. Never knows which devices exist, who sends, what time it is, or how a
record is stored; input from outside raises nothing but `InvalidMessage`.

To add a network, add its file. `base.py` has the result types, `bodies.py`, `json_text.py` and
`values.py` parse what all of them send, `readings.py` builds readings that fit their records, and
`lorawan.py` has what LoRaWAN networks share.
"""
