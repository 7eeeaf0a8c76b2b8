import { readFileSync } from "node:fs";
import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { codeOf, statusName } from "./status-codes.ts";

test("the README has the code of each status without details, and whether a retry can help", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const [, table = ""] = readme.split("| status without details |");
  const rows = [...(table.split("\n## ")[0]?.matchAll(/^\| ([A-Z_, ]+)[^|]*\| `(\w+)` \| (yes|no) \|$/gm) ?? [])];
  const documented = rows.flatMap(([, names = "", code, retry]) =>
    (names.match(/[A-Z]+(?:_[A-Z]+)*/g) ?? []).map((name) => [name, { code, retryable: retry === "yes" }]),
  );
  const numbers = Object.values(status).filter((value) => typeof value === "number");
  const names = numbers.filter((number) => number !== status.OK).map(statusName);
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(names.map((name) => [name, codeOf(name)])));
});
