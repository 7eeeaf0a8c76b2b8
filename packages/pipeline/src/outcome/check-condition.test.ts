import { expect, test } from "vitest";
import { conditionMessage, conditionProblem } from "./check-condition.ts";

test.each([
  ["DatabaseReady", "Up"],
  ["example.org/database-ready", "Creating_1"],
  ["A", ""],
  ["x".repeat(316), "R".repeat(1024)],
])("the type %j with the reason %j is a condition of Kubernetes", (type, reason) => {
  expect(conditionProblem({ type, reason })).toBeUndefined();
});

test.each([
  ["", "Up"],
  ["Data base", "Up"],
  ["\u001b[31mReady", "Up"],
  ["Ready\u0007", "Up"],
  ["Ready\n", "Up"],
  ["Example.org/Ready", "Up"],
  ["a/b/c", "Up"],
  ["x".repeat(317), "Up"],
])("the type %j is none", (type, reason) => {
  expect(conditionProblem({ type, reason })).toContain("its type must be");
});

test.each(["two words", "\u001b]0;title\u0007", "1st", "Up:", "Up\n", "R".repeat(1025)])(
  "the reason %j is none",
  (reason) => {
    expect(conditionProblem({ type: "Up", reason })).toContain("its reason must be");
  },
);

test("a message keeps its lines, and nothing on which terminals act", () => {
  expect(conditionMessage("a\tb\nc é 日本 😀")).toBe("a\tb\nc é 日本 😀");
  expect(conditionMessage("\u001b]0;x\u0007\r\u009b1m\u202eabc\u2069")).toBe(
    "\uFFFD]0;x\uFFFD\uFFFD\uFFFD1m\uFFFDabc\uFFFD",
  );
  expect(conditionMessage("x".repeat(40_000))).toHaveLength(32_768);
});
