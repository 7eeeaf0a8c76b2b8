import type { PullPolicy } from "@xfn/composition";
import type { RemoteRunnerFlags } from "../runner/remote-runner.ts";
import type { RecordOptions } from "../runner/with-recording.ts";
import type { RunnerFlags } from "../runner/with-runner.ts";
import type { PipelineOptions } from "./pipeline-options.ts";

/** Flags of `xfn render`. */
export interface RenderOptions extends RunnerFlags, RemoteRunnerFlags, TraceOptions, RecordOptions, PipelineOptions {
  readonly observedResources?: string;
  readonly includeFunctionResults?: boolean;
  readonly includeFullXr?: boolean;
  readonly functionAnnotations?: readonly string[];
  /** The format of stdout. Default: `yaml`. */
  readonly output?: "yaml" | "json";
  readonly pull?: PullPolicy;
  /** A file or folder with the XR's definition. */
  readonly xrd?: string;
  /** Lists of CRDs, definitions and packages with the schemas for steps with `schema: Strict`. */
  readonly crds?: readonly string[];
  /** Files or folders of EnvironmentConfigs. */
  readonly environment?: readonly string[];
  /** Milliseconds for the whole run. */
  readonly timeout: number;
  /** The folder of a recording whose outputs replace those of functions. */
  readonly replay?: string;
  /** Whether a replay continues after an input that differs from the recorded one. */
  readonly ignoreDifferences?: boolean;
}

/** The forms of `--trace`. */
export const TRACE_FORMS = ["text", "json", "html"] as const;

/** `text` for a person at a terminal, `json` for programs, `html` for a person with a browser. */
export type TraceForm = (typeof TRACE_FORMS)[number];

/** The requested trace. */
export interface TraceOptions {
  /** Absent: no trace. */
  readonly trace?: TraceForm;
  /** `--trace-file`. Default: stderr; an HTML page has a default of its own. */
  readonly traceFile?: string;
  /** Whether to print what functions write to stderr. Default: as `watch`. */
  readonly functionStderr?: boolean;
  /** Whether to render again after each change of a file. */
  readonly watch?: boolean;
  /** Names whose values the trace shows although the rules would hide them. */
  readonly notSecret?: readonly string[];
}

/** The files of `xfn render`. One of them can be `-`, for stdin. */
export interface RenderFiles {
  readonly xr: string;
  readonly composition: string;
  readonly functions?: string | undefined;
}
