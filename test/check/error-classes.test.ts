import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files } from "./imports.ts";

// The process of a WebAssembly module may read its own package alone, and each call of a function loads the SDK.
const ALONE = /^packages\/(?:wasm\/src\/guest|functionio\/src\/sdk)\//;

test("errors extend CodedError, except where no other package can be loaded", () => {
  const own = files("packages/*/src/**/*.ts").filter(
    (file) => !file.endsWith(".test.ts") && / extends Error\b/.test(readFileSync(join(CHECKOUT, file), "utf8")),
  );
  expect(own.filter((file) => !ALONE.test(file))).toEqual(["packages/errors/src/coded-error.ts"]);
});
