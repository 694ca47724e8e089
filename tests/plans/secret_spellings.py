"""Names that secrets have, and the ways in which a text gives one its value."""

from __future__ import annotations

NAMES = (
    "password", "passwd", "pwd", "keypass", "storepass", "db_pass", "dbPass", "passphrase", "password2", "PGPASSWORD",
    "account_key", "storage_key", "ssl_key", "api_key", "api-key", "apiKey", "accesskey", "private-key", "AccountKey",
    "SharedAccessKey", "AWS_SECRET_ACCESS_KEY", "sig", "sas", "sas_token", "bearer", "auth_token", "dsn", "creds",
    "credentials", "authorization", "connection_string", "connectionString", "conn_str", "client.secret", "jaas",
    "jaas_config", "session_cookie",
)  # fmt: skip

TEXTS = (
    "password={}",
    "password = {}",
    "password: {}",
    "topic=t ssl.key.password: {}",
    '{{"password": "{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    "run it with --password {}",
    "keytool -storepass {}",
    "Authorization: Bearer {}",
    "Bearer {}",
    "https://store/x?se=1&sig={}",
    "https://alice:{}@host/x",
    "alice:{}@host:9092",
    "DefaultEndpointsProtocol=https;AccountKey={}",
    "api key: {}",
    "-----BEGIN PRIVATE KEY-----\n{}",
    "x.PlainLoginModule required username=a {};",
)
"""Each with the place of the secret."""
