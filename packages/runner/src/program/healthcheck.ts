import { messageOf } from "@xfn/errors";
import { ExitCode } from "@xfn/program";
import { tlsClientOptions } from "@xfn/program/settings";
import { checkHealth } from "@xfn/runner-grpc";
import type { HealthConfig } from "./health-settings.ts";

/** `xfn-runner healthcheck`: asks a runner whether it can run containers. Returns exit code 0 if it can, else 1. */
export async function healthcheck(config: HealthConfig, say: (line: string) => void): Promise<number> {
  try {
    const { address: endpoint, timeout } = config;
    const state = await checkHealth({ endpoint, tls: tlsClientOptions("tls", config) }, timeout);
    if (state === "SERVING") return ExitCode.ok;
    say(`the runner at ${config.address} reports ${state}: its log has the reason`);
  } catch (error) {
    say(messageOf(error));
  }
  return ExitCode.failed;
}
