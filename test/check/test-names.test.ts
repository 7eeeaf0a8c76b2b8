import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files } from "./imports.ts";

// The projects and sets of vitest.config.ts find tests by the words in their names.

const TESTS = files("{packages,examples,test}/**/*.test.ts");
const textOf = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");
const has = (word: string) => (path: string) => path.includes(`.${word}.`);

test("a test's name has the known words, in order", () => {
  const known = /\/[^/.]+(\.long)?(\.host)?(\.cluster|\.mocks)?\.test\.ts$/;
  expect(TESTS.filter((path) => !known.test(path))).toEqual([]);
});

test("unit tests that replace modules are named mocks, and no others are", () => {
  const mocking = TESTS.filter((path) => /^vi\.(mock|doMock)\(/m.test(textOf(path)));
  expect(mocking).not.toEqual([]);
  expect(TESTS.filter(has("mocks"))).toEqual(mocking);
});

test("tests that need an API server are named cluster", () => {
  const needing = TESTS.filter((path) => /\bneeds\([^)]*"api-server"/.test(textOf(path)));
  expect(needing.length).toBeGreaterThan(20);
  expect(needing.filter((path) => !has("cluster")(path))).toEqual([]);
});
