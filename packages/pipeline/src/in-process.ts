import { CodedError } from "@xfn/errors";
import { untilAborted } from "@xfn/lifetime";
import type { FunctionRunner, RunOptions } from "@xfn/runner-contract";

/** A function that runs in this process: FunctionIO in, FunctionIO out, as bytes. */
export type InProcessFunction = (input: Uint8Array, options: RunOptions) => Uint8Array | Promise<Uint8Array>;

/** The runner has no function for an image. */
export class UnknownImageError extends CodedError<"PullFailed"> {
  override readonly name = "UnknownImageError";
  readonly phase = "pull";

  constructor(image: string, known: readonly string[], options?: ErrorOptions) {
    super(
      "PullFailed",
      `no in-process function for the image ${image}; known images: ${known.join(", ") || "none"}`,
      options,
    );
  }
}

/**
 * A runner without containers, for tests: each image name maps to a function in this process. Nothing is isolated, no
 * limit is enforced, and an aborted call continues in the background.
 */
export function inProcessRunner(functions: Readonly<Record<string, InProcessFunction>>): FunctionRunner {
  const known = new Map(Object.entries(functions));
  return {
    async run(image, input, options = {}) {
      const run = known.get(image);
      if (run === undefined) throw new UnknownImageError(image, [...known.keys()]);
      const { signal } = options;
      signal?.throwIfAborted();
      return await untilAborted(Promise.resolve(run(input, options)), signal);
    },
  };
}
