import { escapeUnsafe } from "@xfn/json/text";
import { ExitCode } from "@xfn/program/exit-code";
import { escapeControls } from "@xfn/program/terminal-text";
import { cacheDir } from "@xfn/runner/cache-dir";
import { colours } from "../terminal/colours.ts";
import type { Output } from "../terminal/output.ts";
import type { Check, CheckStatus, DoctorReport } from "./check.ts";
import { diagnose } from "./diagnose.ts";
import { type Host, thisHost } from "./host.ts";

export interface DoctorOptions {
  readonly output: "text" | "json";
  readonly cacheDir?: string;
}

/** `xfn doctor`: reports whether rootless containers can run on this host. Exit code 0 if they can, else 1. */
export async function doctor(options: DoctorOptions, output: Output, host: Host = thisHost()): Promise<number> {
  const report = await diagnose(host, options.cacheDir ?? cacheDir());
  await output.product(
    options.output === "json" ? `${escapeUnsafe(JSON.stringify(report, null, 2))}\n` : table(report),
  );
  return report.canRun ? ExitCode.ok : ExitCode.failed;
}

const WORDS: Record<CheckStatus, string> = { ok: "ok", warn: "warn", fail: "FAIL", info: "info" };

function table(report: DoctorReport): string {
  const paint = colours(process.stdout);
  const colour: Record<CheckStatus, (text: string) => string> = {
    ok: paint.green,
    warn: paint.yellow,
    fail: paint.red,
    info: paint.dim,
  };
  const width = Math.max(...report.checks.map((check) => check.title.length));
  const line = (check: Check): string => {
    const status = colour[check.status](WORDS[check.status].padEnd(4));
    const first = `${status}  ${check.title.padEnd(width)}  ${escapeControls(check.detail)}`;
    return check.remedy === undefined ? first : `${first}\n${" ".repeat(width + 8)}${paint.dim("->")} ${check.remedy}`;
  };
  const verdict = report.canRun
    ? paint.green("Function containers can run on this host.")
    : paint.red("Function containers cannot run on this host: fix the checks marked FAIL.");
  return `${report.checks.map(line).join("\n")}\n\n${verdict}\n`;
}
