import { expect, test } from "vitest";
import { createLog } from "./log.ts";
import type { LogFormat } from "./log-levels.ts";

function logged(format: LogFormat, value: string): string {
  let text = "";
  const log = createLog({ level: "info", format }, (line) => {
    text += line;
  });
  log.info({ image: value }, "call");
  return text;
}

test("a line of JSON parses to the logged values, with any characters", () => {
  const value = 'quote " \n\r\u0000\u001b[2J \u007f\u0085\u009b \u2028 \u202e end';
  const text = logged("json", value);
  expect(JSON.parse(text)).toMatchObject({ level: "info", msg: "call", image: value });
});

test.each<LogFormat>(["json", "text"])("as %s no value breaks a line or steers a terminal", (format) => {
  const text = logged(format, 'x\n{"msg":"forged"}\r\u001b[2J\u0085\u009b\u2028\u202e\u2066');
  expect(text.match(/\n/g)).toHaveLength(1);
  expect(text.endsWith("\n")).toBe(true);
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
});

test("as text a value with a space or an equals sign is quoted, so that it cannot forge another", () => {
  expect(logged("text", "ghcr.io/a/b:v1")).toMatch(/ INFO {2}call image=ghcr\.io\/a\/b:v1\n$/);
  expect(logged("text", "a code=OK")).toMatch(/ image="a code=OK"\n$/);
});

test("messages below the level are not written", () => {
  const lines: string[] = [];
  const log = createLog({ level: "warn", format: "json" }, (line) => lines.push(line));
  log.info("no");
  log.warn("yes");
  expect(lines).toHaveLength(1);
});
