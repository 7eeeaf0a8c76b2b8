import { expect, test } from "vitest";
import type { Combine } from "../api/template.ts";
import { compileCombine } from "./combine.ts";

const combine = (fields: unknown): ((inputs: readonly (string | number | null)[]) => unknown) =>
  compileCombine(fields as Combine);

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

test("formats its inputs in order", () => {
  const compiled = combine({ strategy: "string", variables: [], string: { fmt: "%s-%d" } });
  expect(compiled(["a", 1])).toBe("a-1");
  expect(compiled(["b", 2])).toBe("b-2");
  expect(compiled([null])).toBe("%!s(<nil>)-%!d(MISSING)");
});

test("a missing format is empty, as in Go", () => {
  expect(combine({ strategy: "string", string: {} })([])).toBe("");
  expect(combine({ strategy: "string", string: {} })(["a"])).toBe("%!(EXTRA string=a)");
});

test.each([
  [null],
  [{}],
  [{ strategy: "sum", string: { fmt: "" } }],
  [{ strategy: "string" }],
  [{ strategy: "string", string: { fmt: 5 } }],
])("%j fails when it runs", (fields) => {
  const compiled = combine(fields);
  expect(outcome(() => compiled(["a"]))).toMatchObject({ name: "TransformError", code: "Config", index: undefined });
});
