"""The settings of the service: each is declared in `settings.py`, and loaded by `loading.py`.

Flags override environment variables, which override a TOML file. What nobody has a reason to change
is no setting, but in `fixed_limits.py`. `process/app_config.py` passes plain values down; lower
layers never import this package.
"""

from longwire.settings.settings import (
    MOST_SET,
    NOT_SETTINGS,
    RELOADABLE,
    STANDBY,
    Settings,
    describe_settings,
    list_changed,
    setting_fields,
)

__all__ = [
    "MOST_SET",
    "NOT_SETTINGS",
    "RELOADABLE",
    "STANDBY",
    "Settings",
    "describe_settings",
    "list_changed",
    "setting_fields",
]
