import { expect, test } from "vitest";
import { causeLine } from "./cause-line.ts";

test.each<[what: string, stderr: string, cause: string | undefined]>([
  [
    "of Python",
    "Traceback:\n  File a\nModuleNotFoundError: No module named 'x'\n",
    "ModuleNotFoundError: No module named 'x'",
  ],
  ["of Node", "node:internal\n\nTypeError: no\n    at a\n\nNode.js v24\n", "TypeError: no"],
  ["with a code", "Error [ERR_X]: no\n    at a\n}\n", "Error [ERR_X]: no"],
  ["of Go", "panic: no\n\ngoroutine 1 [running]:\n", "panic: no"],
  ["of the loader", "/app: error while loading librt.so.1\n", "/app: error while loading librt.so.1"],
  ["that moves the cursor", "\u001b[2J", "?[2J"],
  ["that is long", "x".repeat(1_000), "x".repeat(300)],
  ["that is empty", "\n \n", undefined],
])("the cause in a stderr %s", (_, stderr, cause) => {
  expect(causeLine(stderr)).toBe(cause);
});
