import { messageOf } from "@xfn/errors";
import { ExitCode } from "@xfn/program";
import { checkHealth, type RunnerClientOptions } from "@xfn/runner-grpc";
import type { HealthConfig } from "./health-settings.ts";

/** `xfn-runner healthcheck`: asks a runner whether it can run containers. Returns exit code 0 if it can, else 1. */
export async function healthcheck(config: HealthConfig, say: (line: string) => void): Promise<number> {
  try {
    const state = await checkHealth(clientOptions(config), config.timeout);
    if (state === "SERVING") return ExitCode.ok;
    say(`the runner at ${config.address} reports ${state}: its log has the reason`);
  } catch (error) {
    say(messageOf(error));
  }
  return ExitCode.failed;
}

function clientOptions(config: HealthConfig): RunnerClientOptions {
  const { address: endpoint, tlsCa: caFile, tlsCert: certFile, tlsKey: keyFile, tlsServerName: serverName } = config;
  const tls = { caFile, certFile, keyFile, serverName };
  return { endpoint, tls: Object.values(tls).some((value) => value !== undefined) ? tls : undefined };
}
