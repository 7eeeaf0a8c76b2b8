import { ExitCode } from "@xfn/program";
import { checkHealth, type RunnerClientOptions } from "@xfn/runner-grpc";

/** `xfn-runner healthcheck`: whether a runner can run containers now. @returns exit code 0 if it says so, else 1 */
export async function healthcheck(
  options: RunnerClientOptions,
  timeoutMs: number,
  say: (line: string) => void,
): Promise<number> {
  try {
    const state = await checkHealth(options, timeoutMs);
    if (state === "SERVING") return ExitCode.ok;
    say(`the runner at ${options.endpoint} says ${state}: its log has the reason`);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
  return ExitCode.failed;
}
