"""Settings: where they come from, which one wins, and how an invalid one is reported."""

import json
import re
from dataclasses import fields, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from longwire.notifications import webpush
from longwire.settings import MOST_SET, Settings, describe_settings
from longwire.settings.declaration import SettingsError, redact_password
from longwire.settings.file import render_effective, render_template
from longwire.settings.loading import load

# What a number counts if its name does not end in a unit.
COUNTED = {
    "port",
    "workers",
    "connections",
    "slots",
    "standbys",
    "listeners",
    "failures",
    "requests",
    "groups",
    "members",
    "roles",
    "clients",
    "tokens",
    "connectors",
    "mails",
    "hours",
    "ms",
    "bytes",
    "depth",
    "items",
    "ids",
    "tags",
    "characters",
    "records",
    "days",
    "flight",
    "notifications",
    "sessions",
    "jobs",
    "passkeys",
    "ratio",
}


def from_file(tmp_path: Path, text: str, **beside: str) -> Path:
    """A file of settings, and others beside it."""
    path = tmp_path / "longwire.toml"
    path.write_text(text)
    for name, content in beside.items():
        (tmp_path / name).write_text(content)
    return path


def problems(
    flags: dict[str, Any] | None = None,
    environ: dict[str, str] | None = None,
    config: Path | None = None,
) -> list[str]:
    with pytest.raises(SettingsError) as raised:
        load(flags or {}, environ or {}, config)
    return str(raised.value).splitlines()


# --- the table ---


@pytest.mark.parametrize("each", describe_settings(), ids=lambda each: each.name)
def test_every_setting_has_a_reason_and_every_number_a_unit(each: Any) -> None:
    assert len(each.reason) > 10, "why is it so?"
    assert each.flag == "--" + each.name.replace("_", "-")
    assert each.variable == "LONGWIRE_" + each.name.upper()
    if isinstance(each.default, int | float) and not isinstance(each.default, bool):
        words = each.name.split("_")
        assert words[-1] == "s" or COUNTED & set(words), "of what?"


def test_the_defaults_do_not_contradict_each_other() -> None:
    assert load({}, {}) == Settings()


def test_secrets_are_never_shown() -> None:
    assert [each.name for each in describe_settings() if each.is_secret] == [
        "secret_key",
        "oidc_client_secret",
        "metrics_token",
        "otel_headers",
        "smtp_password",
        "vapid_key",
        "vendor_api_password",
        "chirpstack_api_key",
        "loriot_api_key",
        "thingpark_as_key",
    ]


# --- where they come from ---


def test_flags_win_over_the_environment_and_the_environment_over_the_file(tmp_path: Path) -> None:
    config = from_file(tmp_path, 'host = "10.0.0.1"\nport = 1001\ndata = "from-file"\n')
    environ = {"LONGWIRE_HOST": "10.0.0.2", "LONGWIRE_PORT": "1002", "PATH": "/bin"}
    flags = {"host": "10.0.0.3", "port": None, "data": None}
    chosen = load(flags, environ, config)
    assert (chosen.host, chosen.port, chosen.data) == ("10.0.0.3", 1002, Path("from-file"))
    assert load({}, environ, config).host == "10.0.0.2"
    assert load({}, {}, config).host == "10.0.0.1"
    assert load({}, {}).host == "127.0.0.1"


def test_the_variable_that_names_the_file_is_not_a_setting() -> None:
    assert load({}, {"LONGWIRE_CONFIG": "somewhere.toml"}) == Settings()


SECRETS = [each.name for each in describe_settings() if each.may_be_file]


def test_every_secret_may_be_in_a_file(tmp_path: Path) -> None:
    assert {"secret_key", "smtp_password", "database", "mqtt_url"} <= set(SECRETS)
    key = webpush.generate_vapid_key()
    contents = {
        "database": "postgresql://ada:hunter2@db/lw",
        "database_read_standbys": "postgresql://ada:hunter5@standby/lw",
        "mqtt_url": "mqtts://ada:hunter3@broker",
        "otel_headers": "authorization=hunter4",
        "egress_proxy": "socks5://ada:hunter6@proxy:1080",
        "vapid_key": key,
    }
    others = {
        "smtp_user": "ada",
        "smtp_host": "mail",
        "smtp_from": "lw@example.com",
        "vapid_contact": "mailto:lw@example.com",
    }
    environ = {f"LONGWIRE_{name.upper()}": value for name, value in others.items()}
    for name in SECRETS:
        (tmp_path / name).write_text(contents.get(name, f"hunter-{name}") + "\n")
        environ[f"LONGWIRE_{name.upper()}_FILE"] = str(tmp_path / name)
    chosen = load({}, environ)
    for name in SECRETS:
        assert getattr(chosen, name) == contents.get(name, f"hunter-{name}")


def test_a_file_of_settings_names_files_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("c0ffee")
    config = from_file(tmp_path, 'secret_key_file = "key"\n')
    assert load({}, {}, config).secret_key == "c0ffee"
    assert load({}, {"LONGWIRE_SECRET_KEY": "cafe"}, config).secret_key == "cafe"
    assert load({}, {"LONGWIRE_SECRET_KEY_FILE": ""}, config).secret_key == "c0ffee"


def test_a_secret_is_given_once_and_errors_name_its_file_only(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfe secret")
    environ = {
        "LONGWIRE_SECRET_KEY": "c0ffee",
        "LONGWIRE_SECRET_KEY_FILE": str(tmp_path / "key"),
        "LONGWIRE_SMTP_PASSWORD_FILE": str(tmp_path / "nowhere"),
        "LONGWIRE_METRICS_TOKEN_FILE": str(tmp_path / "key"),
        "LONGWIRE_HOST_FILE": str(tmp_path / "key"),
    }
    wrong = problems(environ=environ)
    assert "secret_key, secret_key_file: give one of them" in wrong
    assert f"LONGWIRE_METRICS_TOKEN_FILE: {tmp_path / 'key'} cannot be read: is not text" in wrong
    missing = f"{tmp_path / 'nowhere'} cannot be read: No such file or directory"
    assert f"LONGWIRE_SMTP_PASSWORD_FILE: {missing}" in wrong
    assert any(line.startswith("LONGWIRE_HOST_FILE is not a setting") for line in wrong)
    assert "c0ffee" not in "".join(wrong)
    no_path = from_file(tmp_path, 'secret_key_file = "a\\u0000b"')
    assert "cannot be read" in problems(config=no_path)[0]


# --- as a file ---


def test_the_template_has_every_setting_and_changes_none(tmp_path: Path) -> None:
    template = render_template()
    assert load({}, {}, from_file(tmp_path, template)) == Settings()
    for each in describe_settings():
        assert f"\n# {each.key} = " in template, "as a comment"
    uncommented = re.sub(r"(?m)^# (\w+ = )", r"\1", template)
    of_files = re.sub(r'(?m)^\w+_file = ""\n', "", uncommented)
    assert load({}, {}, from_file(tmp_path, of_files)) == Settings(), "with the defaults"


def test_what_is_in_force_can_be_loaded_again_but_for_its_secrets(tmp_path: Path) -> None:
    chosen = load(
        {"port": 9000, "egress_allow": "127.0.0.0/8,::1", "delivery": False},
        {
            "LONGWIRE_DATABASE": "postgresql://ada:hunter2@db/lw",
            "LONGWIRE_SECRET_KEY": "c0ffee",
            "LONGWIRE_MAP_ATTRIBUTION": 'a "quoted" \\ näme',
        },
    )
    text = render_effective(chosen)
    assert "c0ffee" not in text and "hunter2" not in text and "postgresql://ada:***@db" in text
    loaded = load({}, {}, from_file(tmp_path, text))
    assert loaded == replace(chosen, database="", secret_key="")


@pytest.mark.parametrize(
    "name, text, value",
    [
        ("port", "0", 0),
        ("port", "65535", 65_535),
        ("keep_alive_s", "2.5", 2.5),
        ("keep_alive_s", "3", 3.0),
        ("data", "some/where", Path("some/where")),
        ("host", "::1", "::1"),
        ("trusted_proxies", "", ()),
        (
            "trusted_proxies",
            "10.0.0.0/8, ::1,192.0.2.7",
            (ip_network("10.0.0.0/8"), ip_network("::1/128"), ip_network("192.0.2.7/32")),
        ),
    ],
)
def test_a_string_becomes_a_value_of_the_settings_type(name: str, text: str, value: object) -> None:
    assert getattr(load({name: text}, {}), name) == value
    assert getattr(load({}, {f"LONGWIRE_{name.upper()}": text}), name) == value


def test_the_file_may_use_the_types_of_toml(tmp_path: Path) -> None:
    config = from_file(
        tmp_path,
        'port = 9000\nkeep_alive_s = 4\nstop_timeout_s = 1.5\negress_allow = ["127.0.0.0/8"]\n',
    )
    chosen = load({}, {}, config)
    assert chosen.port == 9000
    assert chosen.keep_alive_s == 4.0
    assert chosen.stop_timeout_s == 1.5
    assert chosen.egress_allow == (ip_network("127.0.0.0/8"),)


# --- invalid settings ---


@pytest.mark.parametrize(
    "name, text",
    [
        ("port", "eighty"),
        ("port", "80.5"),
        ("port", ""),
        ("port", "-1"),
        ("port", "65536"),
        ("workers", "0"),
        ("retention_data_days", "100001"),
        ("delivery_keep_days", "1000000000"),
        ("keep_alive_s", "soon"),
        ("keep_alive_s", "nan"),
        ("keep_alive_s", "inf"),
        ("keep_alive_s", "-0.1"),
        ("keep_alive_s", "0"),
        ("token_lifetime_s", "0"),
        ("body_bytes_max", "0"),
        ("database_connections", "1"),
        ("database_timeout_s", "9"),
        ("trusted_proxies", "10.0.0.1/8"),
        ("trusted_proxies", "localhost"),
        ("egress_allow", "127.0.0.1/33"),
        ("database", "mysql://localhost"),
        ("host", ""),
        ("log_level", "loud"),
        ("log_format", "xml"),
        ("tls_cert", "cert.pem"),
        ("tls_key", "key.pem"),
        ("workers", "2"),
        ("metrics_port", "65536"),
        ("otel_endpoint", "collector:4318"),
        ("otel_endpoint", "http://me:you@collector:4318"),
        ("otel_headers", "authorization"),
        ("otel_headers", "x key=a"),
        ("otel_headers", "x-key=a%0Db"),
        ("otel_sample_ratio", "1.1"),
        ("otel_sample_ratio", "-0.1"),
        ("mqtt_url", "broker"),
        ("mqtt_url", "http://broker"),
        ("mqtt_url", "mqtt://"),
        ("mqtt_url", "mqtt://broker/topic"),
        ("mqtt_url", "mqtt://ada:p@ss@broker"),
        ("mqtt_prefix", ""),
        ("mqtt_prefix", "in/"),
        ("mqtt_prefix", "in/+"),
        ("mqtt_prefix", "$share/in"),
        ("mqtt_version", "4"),
        ("mqtt_client_id", "\n"),
        ("vendor_api_url", "https://api.example.com/v2"),
        ("vendor_api_url", "api.example.com"),
        ("vendor_api_login", "user:name"),
        ("chirpstack_api_url", "https://chirpstack.example.com"),
        ("chirpstack_api_url", "https://me:you@chirpstack.example.com"),
        ("chirpstack_api_key", "a\nb"),
        ("loriot_api_url", "https://eu1.loriot.io"),
        ("loriot_app_id", "\u00e4"),
        ("thingpark_api_url", "https://community.thingpark.io"),
        ("thingpark_as_key", "a\nb"),
        ("smtp_host", "mail.example.com"),
        ("smtp_from", "longwire@example.com"),
        ("smtp_from", "longwire"),
        ("smtp_port", "0"),
        ("smtp_port", "65536"),
        ("smtp_security", "yes"),
        ("smtp_user", "longwire"),
        ("smtp_password", "secret"),
        ("mail_domains", "example.com ada@example.org"),
        ("mail_domains", "*.example.com"),
        ("vapid_key", "A" * 43),
        ("vapid_key", "short"),
        ("vapid_key", "€" * 43),
        ("vapid_contact", "ops@example.com"),
        ("egress_proxy", "ftp://proxy.example.com"),
        ("egress_proxy", "http://ada@proxy.example.com"),
        ("fcm_account", "there-is-no-such-file.json"),
    ],
)
def test_an_invalid_value_is_reported_with_its_name(name: str, text: str) -> None:
    assert [line for line in problems({name: text}) if name in line]
    assert problems({}, {f"LONGWIRE_{name.upper()}": text}) == problems({name: text})


@pytest.mark.parametrize(
    "line",
    [
        "port = true",
        "port = 80.5",
        "port = [80]",
        "keep_alive_s = true",
        "keep_alive_s = [1]",
        "host = 127",
        "data = 5",
        "data = ['here']",
        "trusted_proxies = [10]",
        "trusted_proxies = 10",
        "trusted_proxies = [['127.0.0.1']]",
        "secret_key = 5",
        "database = 2026-01-01",
    ],
)
def test_a_value_of_the_wrong_type_in_the_file_is_reported_with_its_name(
    tmp_path: Path, line: str
) -> None:
    (problem,) = problems(config=from_file(tmp_path, line))
    assert problem.startswith(line.partition(" ")[0] + ": ")


def test_a_service_account_file_is_validated(tmp_path: Path) -> None:
    path = tmp_path / "account.json"
    account = {"project_id": "p", "client_email": "a@b.example", "private_key": "no key"}
    for content in ("", "[]", "{}", json.dumps(account)):
        path.write_text(content)
        (problem,) = problems({"fcm_account": str(path)})
        assert problem.startswith("fcm_account: ")


def test_an_unknown_name_is_refused_with_a_hint_in_every_source(tmp_path: Path) -> None:
    config = from_file(tmp_path, "prot = 80\n[server]\nprt = 80\n[servers]\nport = 80\n")
    environ = {"LONGWIRE_LOGLEVEL": "debug", "LONGWIRE_XYZZY": "1", "OTHER_PORT": "1"}
    lines = problems({}, environ, config)
    assert lines == [
        f"{config}: prot is not a setting; did you mean port?",
        f"{config}: server.prt is not a setting; did you mean server.port?",
        f"{config}: servers.port is not a setting; did you mean server.port?",
        "LONGWIRE_LOGLEVEL is not a setting; did you mean log_level?",
        "LONGWIRE_XYZZY is not a setting",
    ]


def test_a_file_has_tables_and_may_have_the_names_of_before(tmp_path: Path) -> None:
    chosen = load(
        {},
        {},
        from_file(
            tmp_path,
            """
            archive = "s3://bucket/old"

            [server]
            port = 9000

            [database]
            url_file = "url"

            [networks.chirpstack]
            api_url = "https://chirpstack.example.com"
            api_key = "key"
            """,
            url="postgresql://db/lw\n",
        ),
    )
    assert (chosen.archive, chosen.port) == ("s3://bucket/old", 9000)
    assert chosen.database == "postgresql://db/lw"
    assert chosen.chirpstack_api_url == "https://chirpstack.example.com"


def test_each_setting_has_its_place_in_a_file(tmp_path: Path) -> None:
    described = describe_settings()
    assert len({each.path for each in described}) == len(described)
    assert set(MOST_SET) <= {each.name for each in described}


def test_a_setting_that_a_file_has_twice_is_refused(tmp_path: Path) -> None:
    config = from_file(tmp_path, "port = 80\n[server]\nport = 81\n")
    assert problems(config=config) == [f"{config}: port, server.port: give one"]


def test_what_is_fixed_now_is_refused_with_its_value(tmp_path: Path) -> None:
    config = from_file(tmp_path, "tags_max = 60\n")
    fixed = "is no setting any more: it is fixed at 50. Remove it"
    assert problems(config=config) == [f"{config}: tags_max {fixed}"]
    assert problems({}, {"LONGWIRE_TAGS_MAX": "60"}) == [f"LONGWIRE_TAGS_MAX {fixed}"]


def test_everything_that_is_invalid_is_reported_at_once(tmp_path: Path) -> None:
    config = from_file(tmp_path, "prot = 80\nworkers = 'many'\n")
    environ = {"LONGWIRE_EGRESS_ALLOW": "everywhere", "LONGWIRE_TLS_CERT": "cert.pem"}
    flags = {"log_level": "loud", "body_bytes_max": "0"}
    lines = problems(flags, environ, config)
    for name in ("prot", "workers", "egress_allow", "tls_cert", "log_level", "body_bytes_max"):
        assert [line for line in lines if name in line], name
    assert len(lines) == 6


@pytest.mark.parametrize("content", [b"port = ", b"port = 80\nport = 81", b"\xff\xfe", None])
def test_an_unreadable_file_is_reported_with_its_name(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "longwire.toml"
    if content is not None:
        path.write_bytes(content)
    (problem,) = problems(config=path)
    assert problem.startswith(f"{path}: ")


def test_an_error_never_contains_the_key(tmp_path: Path) -> None:
    lines = problems(config=from_file(tmp_path, "secret_key = 424242424242"))
    assert "424242424242" not in "".join(lines)


def test_an_error_never_contains_the_password_of_a_broker() -> None:
    assert "hunter" not in "".join(problems({"mqtt_url": "mqtt://ada:hunter2@broker/topic"}))


@pytest.mark.parametrize("url", ["postgresql://localhost/db", "postgres://localhost/db"])
def test_several_workers_need_postgresql(url: str) -> None:
    assert load({"workers": "4", "database": url}, {}).workers == 4


def test_a_certificate_needs_its_key() -> None:
    chosen = load({"tls_cert": "cert.pem", "tls_key": "key.pem"}, {})
    assert (chosen.tls_cert, chosen.tls_key) == ("cert.pem", "key.pem")


def test_settings_are_immutable() -> None:
    chosen = load({}, {})
    for each in fields(Settings):
        with pytest.raises(AttributeError):
            setattr(chosen, each.name, None)


def test_an_identity_provider_needs_https_a_client_and_rules_that_can_be_read() -> None:
    flags = {"oidc_issuer": "http://id.example.com", "oidc_scopes": "email", "oidc_domains": "@x"}
    found = problems({**flags, "oidc_memberships": "north viewer everybody"})
    assert [each.partition(":")[0] for each in found] == [
        "oidc_issuer, oidc_client_id",
        "oidc_issuer",
        "oidc_scopes",
        "oidc_domains",
        "oidc_memberships",
    ]
    here = {"oidc_issuer": "http://127.0.0.1:8081", "oidc_client_id": "longwire"}
    assert load(here, {}).oidc_issuer == "http://127.0.0.1:8081"


def test_tiles_of_the_map_need_a_host_of_their_own_and_their_three_numbers() -> None:
    for tiles in (
        "https://tiles.example.com/{z}/{x}/{y}.png",
        "https://tiles.example.com:8443/v1/{z}/{y}/{x}?key=a;b",
        "http://[fd00::7]/{z}/{x}/{y}.webp",
        "/srv/longwire/map",
    ):
        assert load({"map_tiles": tiles}, {}).map_tiles == tiles
    for tiles in (
        "tiles.example.com/{z}/{x}/{y}.png",
        "https://{s}.example.com/{z}/{x}/{y}.png",
        "https://tiles.example.com/{z}/{x}.png",
        "https://tiles.example.com/{z}/{x}/{y}/{y}.png",
        "https://tiles.example.com/{z}/{x}/{y}{r}.png",
        "https://ada:secret@example.com/{z}/{x}/{y}.png",
        "https://tiles.example.com; script-src */{z}/{x}/{y}.png",
        "https://tiles.example.com/{z}/{x}/{y}.png\nx-evil: 1",
        "javascript:alert(1)//{z}/{x}/{y}",
        "srv/longwire/map",
        "/srv/{z}/{x}/{y}.png",
    ):
        assert [each.partition(":")[0] for each in problems({"map_tiles": tiles})] == ["map_tiles"]
    assert problems({"map_attribution": "Tiles\nof Example"})


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:hunter2@db/lw",
        "postgresql://ada:hunter2@b@db/lw",
        "postgresql://db/lw?user=ada&password=hunter2",
        "postgresql://db/lw?sslpassword=hunter2&user=ada",
        "postgresql://db/lw?user=ada&pass%77ord=hunter2",
        "postgresql://db/lw?%50ASSWORD=hunter2",
    ],
)
def test_a_url_is_shown_without_its_password(url: str) -> None:
    shown = redact_password(url)
    assert "hunter2" not in shown
    assert "***" in shown
    assert ("user=ada" in shown) == ("user=ada" in url)
