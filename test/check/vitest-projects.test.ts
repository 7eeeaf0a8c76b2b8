import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files } from "./imports.ts";

test("unit tests that replace modules have workers of their own, and no other does", () => {
  const config = readFileSync(join(CHECKOUT, "vitest.config.ts"), "utf8");
  const listed = /^const MOCKING = \[(.*?)\];$/ms.exec(config)?.[1] ?? "";
  const mocking = files("{packages/*/src,test/unit}/**/*.test.ts").filter((path) =>
    /^vi\.(mock|doMock)\(/m.test(readFileSync(join(CHECKOUT, path), "utf8")),
  );
  expect([...listed.matchAll(/"(.*?)"/g)].map(([, path]) => path).toSorted()).toEqual(mocking.toSorted());
});

// Under another name, `npm test` would run a long test, and `npm run test:long` would not.
test("the files of long tests exist", () => {
  const listed = /^long='\n(.*?)'$/ms.exec(readFileSync(join(CHECKOUT, "scripts/test.sh"), "utf8"))?.[1] ?? "";
  const paths = listed.trim().split("\n");
  expect(paths.length).toBeGreaterThan(1);
  expect(paths.filter((path) => !existsSync(join(CHECKOUT, path)))).toEqual([]);
});
