import type { PipelineOptions } from "../render/pipeline-options.ts";
import type { RenderOptions } from "../render/render-options.ts";
import type { RemoteRunnerFlags } from "../runner/remote-runner.ts";
import type { RunnerFlags } from "../runner/with-runner.ts";

/** Flags of `xfn operation render`. */
export interface OperationOptions
  extends Omit<RunnerFlags, "allowChroot">,
    RemoteRunnerFlags,
    Omit<PipelineOptions, "extraResources">,
    Pick<RenderOptions, "functionAnnotations" | "includeFunctionResults" | "output" | "pull" | "timeout"> {
  readonly includeFullOperation?: boolean;
  /** A file with the object that a WatchOperation watches. */
  readonly watchedResource?: string;
}

/** The files of `xfn operation render`. One of them can be `-`, for stdin. */
export interface OperationFiles {
  readonly operation: string;
  readonly functions?: string | undefined;
}
