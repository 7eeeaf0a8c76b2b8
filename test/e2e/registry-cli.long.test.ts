import { execFileSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER, startRegistry, type TestRegistry } from "../harness/registry.ts";
import { faultyRegistry } from "../harness/registry-faults.ts";
import { USERS, Workspace } from "../harness/workspace.ts";

// xfn push, pull, copy and run with a registry.

const FUNCTION = "#!/bin/sh\ncat\n";
const IO = '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{}}';
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe.each(USERS)("xfn as %s", (as) => {
  const wanted = needs("docker-registry", "skopeo", ...(as === "self" ? [] : (["ordinary-user"] as const)));
  describe("with registries", wanted, () => {
    let workspace: Workspace;
    let state: Before;
    let open: TestRegistry;
    let locked: TestRegistry;
    let digest: string;
    beforeAll(async () => {
      workspace = await Workspace.create({ as });
      [open, locked] = await Promise.all([startRegistry(), startRegistry({ auth: true })]);
      await workspace.write("fn/function", FUNCTION, { mode: 0o755 });
      const { stdout } = await workspace.xfn(["build", "fn", "-t", "my-fn:v1"]);
      digest = stdout.trim().slice("my-fn:v1@".length);
      state = await before(workspace.root);
    });
    afterAll(async () => {
      await Promise.all([open.stop(), locked.stop()]);
      await workspace[Symbol.asyncDispose]();
    });

    const insecure = (): string[] => ["--insecure-registry", open.host, "--insecure-registry", locked.host];

    test("push prints the name with its digest, and skopeo finds the image", async () => {
      const name = `${open.host}/org/my-fn:v1`;
      const pushed = await workspace.xfn(["push", "my-fn:v1", name, ...insecure()]);
      expect(pushed).toEqual({ code: 0, signal: null, stdout: `${name}@${digest}\n`, stderr: "" });
      const inspected = execFileSync("skopeo", ["inspect", "--tls-verify=false", `docker://${name}`], {
        encoding: "utf8",
      });
      expect(JSON.parse(inspected)).toMatchObject({ Digest: digest });
    });

    test("copies from registry to layout to registry to the store have the same digest", async () => {
      const first = `${open.host}/org/copied:v1`;
      const second = `${open.host}/org/again:v1`;
      await workspace.xfn(["push", "my-fn:v1", first, ...insecure()]);
      for (const [from, to] of [
        [first, "oci:layout:x"],
        ["oci:layout:x", second],
        [second, "from-registry:v1"],
        ["store:from-registry:v1", "oci:layout:y"],
      ] as const) {
        const copied = await workspace.xfn(["copy", from, to, ...insecure()]);
        expect(copied).toMatchObject({
          code: 0,
          stderr: "",
          stdout: expect.stringMatching(new RegExp(`@${digest}\n$`)),
        });
      }
      expect(execFileSync("skopeo", ["inspect", `oci:${workspace.path("layout")}:y`], { encoding: "utf8" })).toContain(
        digest,
      );
    });

    test("pull uses the registry although the store has an image of this name", async () => {
      await workspace.xfn(["push", "my-fn:v1", `${open.host}/my-fn:v1`, ...insecure()]);
      const cache = ["--cache-dir", workspace.path("other-cache")];
      const pulled = await workspace.xfn(["pull", "my-fn:v1", "--registry", open.host, ...cache, ...insecure()]);
      expect(pulled).toEqual({ code: 0, signal: null, stdout: `${open.host}/my-fn:v1@${digest}\n`, stderr: "" });
    });

    test("push, pull and run use the credentials of `docker login`", async () => {
      const name = `${locked.host}/org/my-fn:v1`;
      const config = { auths: { [locked.host]: { auth: base64(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`) } } };
      await workspace.write("docker/config.json", JSON.stringify(config));
      const env = { DOCKER_CONFIG: workspace.path("docker") };
      const without = await workspace.xfn(["push", "my-fn:v1", name, ...insecure()]);
      expect(without).toMatchObject({ code: 1, stdout: "" });
      expect(without.stderr).toContain("401");
      expect(without.stderr).toContain(`docker login ${locked.host}`);
      expect(await workspace.xfn(["push", "my-fn:v1", name, ...insecure()], { env })).toMatchObject({ code: 0 });
      const cache = ["--cache-dir", workspace.path("third-cache")];
      expect(await workspace.xfn(["pull", name, ...cache, ...insecure()], { env })).toMatchObject({ code: 0 });
    });

    test("login stores credentials that the registry accepts, and logout removes them", async () => {
      const { host } = locked;
      const env = { DOCKER_CONFIG: workspace.path("logged-in"), XDG_RUNTIME_DIR: workspace.path("run") };
      const push = ["push", "my-fn:v1", `${host}/org/login:v1`, ...insecure()];
      const login = ["login", host, "--username", REGISTRY_USER, "--password-stdin", ...insecure()];
      const refused = await workspace.xfn(login, { env, input: "hunter2\n" });
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("401");
      expect(refused.stderr).not.toContain("hunter2");
      expect(existsSync(workspace.path("logged-in"))).toBe(false);
      expect(await workspace.xfn(login, { env, input: `${REGISTRY_PASSWORD}\n` })).toMatchObject({ code: 0 });
      expect(await workspace.xfn(push, { env })).toMatchObject({ code: 0 });
      expect(await workspace.xfn(["logout", host], { env })).toMatchObject({ code: 0 });
      const without = await workspace.xfn(push, { env });
      expect(without.code).toBe(1);
      // The message says where credentials were looked for.
      expect(without.stderr).toContain(`${workspace.path("run")}/containers/auth.json`);
      const podman = { auths: { [`${host}/org`]: { auth: base64(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`) } } };
      await workspace.write("run/containers/auth.json", JSON.stringify(podman));
      expect(await workspace.xfn(push, { env })).toMatchObject({ code: 0 });
    });

    test("a credential helper is used, and its secret is never printed", async () => {
      const helper = await workspace.write(
        "bin/docker-credential-test",
        `#!/bin/sh\nread server\nprintf '{"Username":"${REGISTRY_USER}","Secret":"%s"}' "$SECRET"\n`,
      );
      chmodSync(helper, 0o755);
      await workspace.write("helped/config.json", JSON.stringify({ credHelpers: { [locked.host]: "test" } }));
      const PATH = `${workspace.path("bin")}:${process.env["PATH"]}`;
      const env = { DOCKER_CONFIG: workspace.path("helped"), PATH };
      const args = ["push", "my-fn:v1", `${locked.host}/org/helped:v1`, ...insecure()];
      expect(await workspace.xfn(args, { env: { ...env, SECRET: REGISTRY_PASSWORD } })).toMatchObject({ code: 0 });
      const wrong = await workspace.xfn(args, { env: { ...env, SECRET: "hunter2", XFN_DEBUG: "1" } });
      expect(wrong.code).toBe(1);
      expect(wrong.stderr).not.toContain("hunter2");
      expect(wrong.stderr).not.toContain(base64(`${REGISTRY_USER}:hunter2`));
    });

    test("a mirror is used first", async () => {
      await workspace.xfn(["push", "my-fn:v1", `${open.host}/hub/org/my-fn:v1`, ...insecure()]);
      const cache = ["--cache-dir", workspace.path("fourth-cache")];
      const mirror = ["--mirror", `nowhere.example=${open.host}/hub`];
      const pulled = await workspace.xfn(["pull", "nowhere.example/org/my-fn:v1", ...mirror, ...cache, ...insecure()]);
      expect(pulled).toMatchObject({ code: 0, stdout: `nowhere.example/org/my-fn:v1@${digest}\n` });
    });

    test.each([
      ["a name that is not in the store", ["push", "nonesuch", "HOST/x:v1"], 1, "not in the local store"],
      ["a target without registry", ["push", "my-fn:v1", "my-fn:v2"], 2, "registry"],
      ["an invalid target", ["push", "my-fn:v1", "HOST/UPPER:v1"], 2, "lower case"],
      ["an unknown image", ["pull", "HOST/nonesuch:v1"], 1, "404"],
      ["an unreachable registry", ["pull", "127.0.0.1:1/x:v1"], 1, "127.0.0.1:1"],
      ["an invalid platform", ["pull", "HOST/x", "--platform", "amd64"], 2, "--platform"],
      ["an invalid mirror", ["pull", "HOST/x", "--mirror", "nonsense"], 2, "--mirror"],
      ["invalid certificates", ["pull", "HOST/x", "--registry-ca", "fn/function"], 2, "--registry-ca"],
      ["a registry without https", ["copy", "my-fn:v1", "OTHER/x:v1", "--no-insecure"], 1, "--insecure-registry"],
    ])("%s ends in one line of stderr and the right code", async (_, given, code, words) => {
      const plain = given.includes("--no-insecure");
      const args = given
        .filter((arg) => arg !== "--no-insecure")
        .map((arg) =>
          // A name of the same registry that is not on the loopback interface, where http needs no flag.
          arg.replace("HOST", open.host).replace("OTHER", open.host.replace("127.0.0.1", "0.0.0.0")),
        );
      const { code: ended, stdout, stderr } = await workspace.xfn([...args, ...(plain ? [] : insecure())]);
      expect({ ended, stdout }).toEqual({ ended: code, stdout: "" });
      expect(stderr).toContain(words);
      expect(stderr).not.toMatch(/\n\s+at /);
    });

    test("an interrupt stops a push immediately, without a name", async () => {
      await using proxy = await faultyRegistry(open.host);
      let reached = (): void => {};
      const waiting = new Promise<void>((resolve) => {
        reached = resolve;
      });
      proxy.fault = ({ method, path }) => {
        if (method !== "PUT") return undefined;
        if (path.includes("/uploads/")) reached();
        // Delays the response by a Retry-After.
        return { kind: "answer", status: 503, headers: { "retry-after": "50" } };
      };
      const name = `${proxy.host}/org/stopped:v1`;
      const started = workspace.startXfn(["push", "my-fn:v1", name, "--insecure-registry", proxy.host]);
      await waiting;
      started.child.kill("SIGINT");
      const { code, stdout } = await started.finished;
      expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
      expect((await fetch(`http://${open.host}/v2/org/stopped/tags/list`)).status).toBe(404);
    });

    test("nothing is left behind", async () => {
      expect(await leftovers(state)).toEqual([]);
    });
  });

  describe(
    "with registries and containers",
    needs("docker-registry", "crun", ...(as === "self" ? [] : (["ordinary-user"] as const))),
    () => {
      test("run pulls with the credentials of `docker login`, and fails without them", async () => {
        await using workspace = await Workspace.create({ as });
        await using registry = await startRegistry({ auth: true });
        const config = { auths: { [registry.host]: { auth: base64(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`) } } };
        await workspace.write("docker/config.json", JSON.stringify(config));
        await workspace.write("fn/function", FUNCTION, { mode: 0o755 });
        const env = { DOCKER_CONFIG: workspace.path("docker") };
        const insecure = ["--insecure-registry", registry.host];
        const name = `${registry.host}/org/fn:v1`;
        await workspace.xfn(["build", "fn", "-t", "fn"]);
        expect(await workspace.xfn(["push", "fn", name, ...insecure], { env })).toMatchObject({ code: 0 });
        const args = ["run", name, "-", ...insecure, "--cache-dir", workspace.path("empty")];
        expect((await workspace.xfn(args, { input: IO })).code).toBe(1);
        const ran = await workspace.xfn(args, { input: IO, env });
        expect(ran).toMatchObject({ code: 0 });
        expect(JSON.parse(ran.stdout)).toMatchObject({ kind: "FunctionIO" });
      });
    },
  );
});
