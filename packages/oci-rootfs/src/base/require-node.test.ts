import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PACKAGES = fileURLToPath(new URL("../../../", import.meta.url));
const ENTRIES = [
  "index.ts",
  "registry.ts",
  "registry/network-scope.ts",
  "threads/worker-threads.ts",
  "store/flatten.ts",
];

test.each(ENTRIES)("on an older Node, an import of %s is one clear line", (entry) => {
  const url = new URL(`../${entry}`, import.meta.url).href;
  const script = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.1.0" } });
    import(${JSON.stringify(url)}).then(() => console.log("loaded"), ({ stack }) => { console.error(stack); process.exitCode = 1; });`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toMatch(/^Error: @xfn\/oci-rootfs needs Node 24 or newer, this is v[\d.]+: install it from [^\n]+\n$/);
});

/** Exports of Node's modules that releases since 18 lack. To import one by its name fails before any message. */
const NEWER =
  /\b(?:\w*[zZ]std\w*|getCACertificates|enableCompileCache|registerHooks|findPackageJSON|stripTypeScriptTypes)\b/;

test("no package imports by its name what older releases of Node lack", () => {
  const found = globSync("*/src/**/*.ts", { cwd: PACKAGES })
    .filter((file) => !file.endsWith(".test.ts"))
    .filter((file) =>
      readFileSync(`${PACKAGES}${file}`, "utf8")
        .matchAll(/^import \{([^}]*)\} from "node:/gm)
        .some(([, names = ""]) => NEWER.test(names)),
    );
  expect(found).toEqual([]);
});
