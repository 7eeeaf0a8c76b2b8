// Shared by the programs of xfn: command lines, settings, logs, probes, signals. Nothing here knows a specific
// program.

export { type CommandLine, commandLine } from "./command-line.ts";
export { ExitCode, signalExitCode, UsageError } from "./exit-code.ts";
export { type Listening, listen } from "./listen.ts";
export type { ListenAddress } from "./listen-address.ts";
export { bounded, createLog, type Log } from "./log.ts";
export type { LogFormat, LogLevel } from "./log-levels.ts";
export { type ProbeServer, type Probes, startProbeServer } from "./probe-server.ts";
export { addProcessMetrics } from "./process-metrics.ts";
export * from "./settings.ts";
export { onStopSignals, type SignalSource, type Stopping } from "./stop-signals.ts";
export { oneLine } from "./terminal-text.ts";
