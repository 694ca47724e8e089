"""The logging of a local node: `server.log` for everything, `request.log` for requests, ten MB a file, three files.

`kafka.request.logger` stands at WARN, so `request.log` stays empty until somebody sets the broker logger to
DEBUG or TRACE.
"""

from __future__ import annotations

from pathlib import Path

from kadmin_nb import files

__all__ = ["log_flags", "write_configs"]


def write_configs(folder: Path) -> None:
    """Write both configurations into a node's folder, where it runs."""
    files.write(folder / "log4j2.properties", _LOG4J2)
    files.write(folder / "log4j.properties", _LOG4J)


def log_flags(*, log4j2: bool) -> tuple[str, ...]:
    """The JVM flag that names the configuration: log4j2's since Kafka 4, reload4j's before."""
    if log4j2:
        return ("-Dlog4j2.configurationFile=log4j2.properties",)
    return ("-Dlog4j.configuration=file:log4j.properties",)


_LOG4J2 = """\
status = error

appender.server.type = RollingFile
appender.server.name = server
appender.server.fileName = server.log
appender.server.filePattern = server.log.%i
appender.server.layout.type = PatternLayout
appender.server.layout.pattern = [%d] %p %m (%c)%n
appender.server.policies.type = SizeBasedTriggeringPolicy
appender.server.policies.size = 10MB
appender.server.strategy.type = DefaultRolloverStrategy
appender.server.strategy.max = 2

appender.request.type = RollingFile
appender.request.name = request
appender.request.fileName = request.log
appender.request.filePattern = request.log.%i
appender.request.layout.type = PatternLayout
appender.request.layout.pattern = [%d] %p %m (%c)%n
appender.request.policies.type = SizeBasedTriggeringPolicy
appender.request.policies.size = 10MB
appender.request.strategy.type = DefaultRolloverStrategy
appender.request.strategy.max = 2

rootLogger.level = info
rootLogger.appenderRef.server.ref = server

logger.request.name = kafka.request.logger
logger.request.level = warn
logger.request.additivity = false
logger.request.appenderRef.request.ref = request

logger.channel.name = kafka.network.RequestChannel$
logger.channel.level = warn
logger.channel.additivity = false
logger.channel.appenderRef.request.ref = request
"""

_LOG4J = """\
log4j.rootLogger=INFO, server

log4j.appender.server=org.apache.log4j.RollingFileAppender
log4j.appender.server.File=server.log
log4j.appender.server.MaxFileSize=10MB
log4j.appender.server.MaxBackupIndex=2
log4j.appender.server.layout=org.apache.log4j.PatternLayout
log4j.appender.server.layout.ConversionPattern=[%d] %p %m (%c)%n

log4j.appender.request=org.apache.log4j.RollingFileAppender
log4j.appender.request.File=request.log
log4j.appender.request.MaxFileSize=10MB
log4j.appender.request.MaxBackupIndex=2
log4j.appender.request.layout=org.apache.log4j.PatternLayout
log4j.appender.request.layout.ConversionPattern=[%d] %p %m (%c)%n

log4j.logger.kafka.request.logger=WARN, request
log4j.additivity.kafka.request.logger=false
log4j.logger.kafka.network.RequestChannel$=WARN, request
log4j.additivity.kafka.network.RequestChannel$=false
"""
