"""What the service writes to people, in their language: mails, messages about alarms, reports.

A TOML file for each language, which programs neither compile nor generate: gettext would need a
build step, and has its English in the code. Names of fields, reasons and states on the wire are no
texts of people; nothing here is an answer of the API.
"""
