import { expect, test } from "vitest";
import { CodedError } from "./coded-error.ts";
import { messageOf } from "./message-of.ts";
import { someOf } from "./some-of.ts";

class ParseError extends CodedError<"Empty" | "Busy"> {
  override readonly name = "ParseError";
}

test("an error has its code, its cause, and says whether a retry can help", () => {
  const cause = new Error("no text");
  expect(new ParseError("Empty", "expected a number", { cause })).toMatchObject({
    name: "ParseError",
    code: "Empty",
    message: "expected a number",
    retryable: false,
    cause,
  });
  expect(new ParseError("Busy", "try later", { retryable: true }).retryable).toBe(true);
});

test("an error without a cause has no field for it", () => {
  expect(Object.hasOwn(new ParseError("Empty", "expected a number", { cause: undefined }), "cause")).toBe(false);
});

test.each([
  ["an error", new Error("no route to host"), "no route to host"],
  ["an error without a message", new TypeError(), ""],
  [
    "a failed connection to several addresses",
    new AggregateError([new Error("refused"), new Error("later")]),
    "refused",
  ],
  ["a text", "broken", "broken"],
  ["nothing", undefined, "undefined"],
])("%s has a message", (_, thrown, message) => {
  expect(messageOf(thrown)).toBe(message);
});

test("a message has the first names, and how many others there are", () => {
  expect(someOf(["a", "b"], 2)).toBe("a, b");
  expect(someOf(["a", "b", "c"], 2)).toBe("a, b, and 1 more");
});
