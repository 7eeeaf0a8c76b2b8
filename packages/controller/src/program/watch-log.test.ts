import { ApiError, type ApiErrorCode, type ResourceKind } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { watchLog } from "./watch-log.ts";

const kind = (name: string): ResourceKind => ({
  group: "example.org",
  version: "v1",
  kind: name,
  plural: name.toLowerCase(),
  namespaced: false,
});

function logged(): { report: (code: ApiErrorCode, name: string) => void; lines: string[]; wait: (ms: number) => void } {
  let now = 0;
  const lines: string[] = [];
  const line = (level: string) => (fields: object) => void lines.push(`${level} ${JSON.stringify(fields)}`);
  const report = watchLog({ warn: line("warn"), debug: line("debug") }, () => now);
  return {
    report: (code, name) => report(new ApiError(code, "no"), kind(name)),
    lines,
    wait: (ms) => void (now += ms),
  };
}
const warnings = (lines: string[]): number => lines.filter((line) => line.startsWith("warn")).length;

test("a problem of a kind is a warning once in ten minutes, however often it repeats", () => {
  const { report, lines, wait } = logged();
  for (let i = 0; i < 30; i++) {
    report("Forbidden", "A");
    report("Forbidden", "B");
    wait(15_000);
  }
  expect(warnings(lines)).toBe(2);
  wait(10 * 60_000);
  report("Forbidden", "A");
  report("Unreachable", "A");
  expect(warnings(lines)).toBe(4);
  expect(lines).toHaveLength(62);
});

test("a kind without a CRD causes no warning", () => {
  const { report, lines } = logged();
  for (let i = 0; i < 300; i++) report(i % 2 === 0 ? "KindNotServed" : "NotFound", `Kind${i}`);
  expect(warnings(lines)).toBe(0);
});
