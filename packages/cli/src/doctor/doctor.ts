import { escapeUnsafe } from "@xfn/json/text";
import { ExitCode } from "@xfn/program/exit-code";
import { escapeControls } from "@xfn/program/terminal-text";
import { cacheDir } from "@xfn/runner/cache-dir";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";
import { colours } from "../terminal/colours.ts";
import type { Output } from "../terminal/output.ts";
import type { Check, CheckStatus } from "./check.ts";
import { diagnose } from "./diagnose.ts";
import { diagnoseCluster } from "./diagnose-cluster.ts";
import { type Host, thisHost } from "./host.ts";

export interface DoctorOptions extends ClusterFlags {
  readonly output: "text" | "json";
  readonly cacheDir?: string;
  /** Checks the cluster in place of this host. */
  readonly cluster?: boolean;
}

/** `xfn doctor`: reports whether rootless containers can run on this host. Exit code 0 if they can, else 1. */
export async function doctor(options: DoctorOptions, output: Output, host: Host = thisHost()): Promise<number> {
  if (options.cluster === true) return await doctorOfCluster(options, output);
  const report = await diagnose(host, options.cacheDir ?? cacheDir());
  const verdict = report.canRun
    ? "Function containers can run on this host."
    : "Function containers cannot run on this host: fix the checks marked FAIL.";
  await print(options, output, report, report.canRun, verdict);
  return report.canRun ? ExitCode.ok : ExitCode.failed;
}

/** `xfn doctor --cluster`: reports what is wrong in a cluster. Exit code 1 if something is. */
async function doctorOfCluster(options: DoctorOptions, output: Output): Promise<number> {
  const checks = await withCluster(options, async (client) => await diagnoseCluster(client));
  const isWell = checks.every(({ status }) => status !== "fail");
  const verdict = isWell ? "Nothing is wrong in the cluster." : "Fix the checks marked FAIL.";
  await print(options, output, { isWell, checks }, isWell, verdict);
  return isWell ? ExitCode.ok : ExitCode.failed;
}

async function print(
  { output: form }: DoctorOptions,
  output: Output,
  report: { readonly checks: readonly Check[]; readonly canRun?: boolean; readonly isWell?: boolean },
  isWell: boolean,
  verdict: string,
): Promise<void> {
  const text =
    form === "json" ? `${escapeUnsafe(JSON.stringify(report, null, 2))}\n` : table(report.checks, isWell, verdict);
  await output.product(text);
}

const WORDS: Record<CheckStatus, string> = { ok: "ok", warn: "warn", fail: "FAIL", info: "info" };

function table(checks: readonly Check[], isWell: boolean, verdict: string): string {
  const paint = colours(process.stdout);
  const colour: Record<CheckStatus, (text: string) => string> = {
    ok: paint.green,
    warn: paint.yellow,
    fail: paint.red,
    info: paint.dim,
  };
  const width = Math.max(...checks.map((check) => check.title.length));
  const line = (check: Check): string => {
    const status = colour[check.status](WORDS[check.status].padEnd(4));
    const first = `${status}  ${check.title.padEnd(width)}  ${escapeControls(check.detail)}`;
    return check.remedy === undefined ? first : `${first}\n${" ".repeat(width + 8)}${paint.dim("->")} ${check.remedy}`;
  };
  return `${checks.map(line).join("\n")}\n\n${(isWell ? paint.green : paint.red)(verdict)}\n`;
}
