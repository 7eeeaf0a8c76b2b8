// What the long-running programs of xfn share. Nothing here knows what a program does.

export { type CommandLine, commandLine } from "./command-line.ts";
export { declareSettings, givenFlags, type HelpGroups } from "./declare-settings.ts";
export { ExitCode, UsageError } from "./exit-code.ts";
export { bounded, createLog, LOG_FORMATS, LOG_LEVELS, type Log, type LogFormat, type LogLevel } from "./log.ts";
export { type MetricsAddress, metricsAddress } from "./metrics-address.ts";
export { type ProbeServer, type Probes, startProbeServer } from "./probe-server.ts";
export { PROCESS_METRICS } from "./process-metrics.ts";
export { type GivenFlags, readSettings, type SettingsOf } from "./read-settings.ts";
export {
  anyText,
  choice,
  cpu,
  duration,
  durationOrNone,
  durationWithin,
  integer,
  many,
  memory,
  one,
  optional,
  type Reader,
  type Setting,
  toggle,
  variableOf,
} from "./setting.ts";
export { onStopSignals, type SignalSource, type Stopping } from "./stop-signals.ts";
export { oneLine } from "./terminal-text.ts";
