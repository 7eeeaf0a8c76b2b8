import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";

test("set-up recognizes the tools of development by a package that only development has", () => {
  const setup = readFileSync(join(CHECKOUT, "scripts/setup.sh"), "utf8");
  const [, name] = /has_development_tools\(\) \{\n.*\/(node_modules\/\S+)\/package\.json/.exec(setup) ?? [];
  const { packages } = JSON.parse(readFileSync(join(CHECKOUT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  expect(packages[name ?? ""]).toMatchObject({ dev: true });
});
