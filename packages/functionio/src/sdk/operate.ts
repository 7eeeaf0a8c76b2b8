import type { JsonObject } from "@xfn/json";
import { type ComposeFunction, type ComposeOptions, type Context, compose } from "./compose.ts";
import type { DesiredState } from "./state.ts";

/** The argument of a handler of an operation. It has no XR, and observes only what it requires. */
export interface OperationContext<Config = JsonObject | undefined>
  extends Pick<Context, "results" | "context" | "credentials" | "required"> {
  /** The input of the step, as returned by its schema. */
  readonly config: Config;
  /** The objects that the Operation applies. It deletes none. */
  readonly desired: Pick<DesiredState, "names" | "resource" | "apply" | "set" | "patch">;
  /** Sets the output of the step in the status of the Operation. */
  output(value: JsonObject): void;
}

/** A handler: it describes the objects to apply through `desired`, and returns nothing. */
export type OperationHandler<Config> = (context: OperationContext<Config>) => void | Promise<void>;

/** A function for steps of Operations, over gRPC. Made by {@link operate}. */
export type OperateFunction<Config = unknown> = ComposeFunction<never, Config>;

/**
 * Makes a function for Operations of a handler. The desired state of earlier steps is always preserved. If the handler
 * throws, the response is one fatal result, and the Operation is tried again. Its package needs the capability
 * `operation`.
 */
export function operate<Config = JsonObject | undefined>(handler: OperationHandler<Config>): OperateFunction<Config>;
export function operate<ConfigInput = JsonObject | undefined, Config = ConfigInput>(
  options: Pick<ComposeOptions<never, ConfigInput, Config>, "config">,
  handler: OperationHandler<Config>,
): OperateFunction<ConfigInput>;
export function operate<Config>(
  first: Pick<ComposeOptions<never, unknown, Config>, "config"> | OperationHandler<Config>,
  second?: OperationHandler<Config>,
): OperateFunction<Config> {
  const handler = typeof first === "function" ? first : second;
  const options = typeof first === "function" ? {} : first;
  if (handler === undefined) throw new TypeError("operate needs a handler");
  return (io, run) => {
    let returned: JsonObject | undefined;
    const output = (value: JsonObject): void => {
      if (run === undefined) throw new TypeError("output(): only a run over gRPC has an output; build a package");
      returned = value;
    };
    const composed = compose<never, unknown, Config>(
      options,
      ({ config, desired, results, context, credentials, required }) =>
        handler({
          config,
          desired,
          results,
          context,
          credentials,
          required,
          output,
        }),
    );
    if (run === undefined) return composed(io);
    return composed(io, { ...run, respond: (response) => run.respond({ ...response, output: returned }) });
  };
}
