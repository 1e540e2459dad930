"""Messages that networks and devices send: HTTP callbacks and the MQTT listener.

Turns what a network or a device sent into records for ingest, and answers it with what is waiting
for the device. It never decides what a message means: that is the work of `networks/`.
"""
