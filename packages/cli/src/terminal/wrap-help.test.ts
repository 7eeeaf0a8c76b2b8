import { expect, test } from "vitest";
import { wrapHelp } from "./wrap-help.ts";

test("joins and wraps the lines of a paragraph, but not sentences that begin a line", () => {
  const text = "one two three\nfour five six.\nseven eight\n\nnine";
  expect(wrapHelp(text, 14)).toBe("one two three\nfour five six.\nseven eight\n\nnine");
  expect(wrapHelp(text, 9)).toBe("one two\nthree\nfour five\nsix.\nseven\neight\n\nnine");
  expect(wrapHelp(text, 80)).toBe("one two three four five six.\nseven eight\n\nnine");
});

test("leaves indented lines and long words alone", () => {
  const text = "Example:\n  $ xfn render a-long-file.yaml another-long-file.yaml\nhttps://example.org/a/long/address\n";
  expect(wrapHelp(text, 20)).toBe(text);
});
