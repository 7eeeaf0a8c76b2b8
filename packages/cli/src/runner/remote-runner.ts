import { type Composition, stepsOf, traitsOf } from "@xfn/composition";
import { InputError } from "@xfn/input";
import { type TlsClientSettings, tlsClientOptions } from "@xfn/program/settings";
import { createRunnerClient, DEFAULT_ENDPOINT, type RunnerClient, RunnerSetupError } from "@xfn/runner-grpc";
import { type CliError, usageError } from "../errors/cli-error.ts";
import type { ClosableRunner } from "./lazy-runner.ts";

/** The runner of the functions, and its credentials. */
export interface RemoteRunnerFlags extends Partial<TlsClientSettings<"runner">> {
  /** An endpoint for all functions, or {@link OF_COMPOSITION}. Absent: functions run in this process. */
  readonly runner?: string;
  readonly runnerTokenFile?: string;
  /** Bytes. */
  readonly maxOutput?: number;
}

/** Instead of an endpoint: use each function's own, `container.runner.endpoint`, else the default. */
export const OF_COMPOSITION = "composition";

/**
 * Runs functions at other runners over gRPC. Connects at the first call.
 *
 * @param composition - the Composition whose functions will be called
 * @throws CliError `Usage` for an endpoint, a token or a certificate that cannot be used
 * @throws InputError for such an endpoint in the Composition
 */
export function openRemoteRunner(flags: RemoteRunnerFlags, composition: Composition): ClosableRunner {
  const { runner: chosen = OF_COMPOSITION } = flags;
  // The author of the Composition chooses the endpoint, and must not obtain the token that way.
  if (chosen === OF_COMPOSITION && flags.runnerTokenFile !== undefined)
    throw usageError("--runner-token-file requires --runner ENDPOINT, so that the token is sent to that endpoint only");
  const clients = new Map<string, RunnerClient>();
  const byStep = new Map<string, RunnerClient>();
  const clientAt = (wanted: string | undefined, step: string): RunnerClient => {
    const endpoint = chosen === OF_COMPOSITION ? (wanted ?? DEFAULT_ENDPOINT) : chosen;
    const client = clients.get(endpoint) ?? connect(endpoint, flags, step);
    clients.set(endpoint, client);
    return client;
  };
  for (const step of stepsOf(composition)) {
    const { isolation, endpoint } = traitsOf(step);
    if (isolation !== undefined) byStep.set(step.name, clientAt(endpoint, step.name));
  }
  return {
    maxOutputBytes: flags.maxOutput,
    run: (image, input, options) => {
      const client = byStep.get(options?.step ?? "");
      if (client === undefined) throw new Error(`the Composition has no function ${String(options?.step)}`);
      return client.run(image, input, options);
    },
    callFunction: (image, path, message, options) =>
      clientAt(undefined, options?.step ?? "").callFunction(image, path, message, options),
    close: async () => {
      for (const client of clients.values()) client.close();
    },
  };
}

function connect(endpoint: string, flags: RemoteRunnerFlags, step: string): RunnerClient {
  const { runnerTokenFile: tokenFile, maxOutput: maxOutputBytes } = flags;
  try {
    return createRunnerClient({ endpoint, tokenFile, maxOutputBytes, tls: tlsClientOptions("runner", flags) });
  } catch (error) {
    if (!(error instanceof RunnerSetupError)) throw error;
    throw setupError(error, flags, step);
  }
}

// The library's message names its own options; translate them to our flags.
function setupError(error: RunnerSetupError, flags: RemoteRunnerFlags, step: string): CliError | InputError {
  switch (error.code) {
    case "TokenUnusable":
      return usageError(`--runner-token-file: ${error.message}`);
    case "PlaintextRefused":
      return usageError(`${flags.runner}: the token would cross the network unencrypted; use TLS with --runner-ca`);
    case "CertificateUnusable":
      return usageError(`--runner-ca, --runner-cert, --runner-key: ${error.message}`);
    default:
      return flags.runner === OF_COMPOSITION
        ? new InputError(`step "${step}": ${error.message}`, { cause: error })
        : usageError(`--runner: ${error.message}`);
  }
}
