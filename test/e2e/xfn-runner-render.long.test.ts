import { existsSync } from "node:fs";
import process from "node:process";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { RUNNER_MAIN } from "../harness/paths.ts";
import { describeXfnRunner, TOKEN, xfnRunner } from "../harness/runner-program.ts";
import { abstractAddress, startRunnerServer } from "../harness/runner-server.ts";
import { SHELL } from "../harness/shell-function.ts";

// Functions by the program xfn-runner: steps of xfn render, and single calls.

describeXfnRunner((shared) => {
  describe("xfn render --runner", () => {
    const steps = (...endpoints: string[]): string =>
      endpoints
        .map(
          (endpoint, index) => `
    - name: step-${index}
      type: Container
      container: { image: test/forward, timeout: 120s, runner: { endpoint: "${endpoint}" } }`,
        )
        .join("");

    async function write(...endpoints: string[]): Promise<[xr: string, composition: string]> {
      const composition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: c }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XThing }
  resources:
    - name: made
      base: { apiVersion: v1, kind: ConfigMap, metadata: { name: made } }
  functions:${steps(...endpoints)}
`;
      const xr = "apiVersion: example.org/v1\nkind: XThing\nmetadata: { name: x }\n";
      return [
        await shared.workspace.write("xr.yaml", xr),
        await shared.workspace.write("composition.yaml", composition),
      ];
    }

    beforeAll(async () => {
      await shared.workspace.write("forward/function", "#!/bin/sh\necho forwarding >&2\ncat\n", { mode: 0o755 });
      const built = await shared.workspace.xfn(["build", shared.workspace.path("forward"), "-t", "test/forward"]);
      expect(built.code, built.stderr).toBe(0);
    });

    test("runs functions at the endpoint, and prints the same result", async () => {
      const files = await write("unix:/nowhere/a", "unix:/nowhere/b");
      const here = await shared.workspace.xfn(["render", ...files]);
      expect(here).toMatchObject({ code: 0, stdout: expect.stringContaining("kind: ConfigMap") });
      await using server = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      const there = await shared.workspace.xfn(["render", ...files, "--runner", shared.socket]);
      expect(there).toMatchObject({ code: 0, stdout: here.stdout });
      const calls = server.log().filter(({ msg }) => msg === "call");
      expect(calls.map(({ step, code }) => [step, code])).toEqual([
        ["step-0", "OK"],
        ["step-1", "OK"],
      ]);
    });

    test("runs functions at the endpoints of the Composition, and never sends them a token", async () => {
      const other = `unix:${shared.workspace.path("other.sock")}`;
      const files = await write(shared.socket, other);
      await using one = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      await using two = await startRunnerServer(shared.workspace, ["--address", other]);
      const rendered = await shared.workspace.xfn(["render", ...files, "--runner", "composition"]);
      expect(rendered.code, rendered.stderr).toBe(0);
      for (const server of [one, two]) expect(server.log().filter(({ msg }) => msg === "call")).toHaveLength(1);
      const tokenFile = await shared.workspace.write("token", `${TOKEN}\n`, { mode: 0o600 });
      const args = ["render", ...files, "--runner", "composition", "--runner-token-file", tokenFile];
      expect(await shared.workspace.xfn(args)).toMatchObject({ code: 2, stdout: "" });
    });

    test("authenticates with a token if the runner requires one", async () => {
      const endpoint = abstractAddress();
      const files = await write("unix:/nowhere");
      const tokenFile = await shared.workspace.write("token", `${TOKEN}\n`, { mode: 0o600 });
      await using _server = await startRunnerServer(shared.workspace, [
        "--address",
        endpoint,
        "--token-file",
        tokenFile,
      ]);
      const out = await shared.workspace.xfn(["render", ...files, "--runner", endpoint]);
      expect(out).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("token") });
      const args = ["render", ...files, "--runner", endpoint, "--runner-token-file", tokenFile];
      expect((await shared.workspace.xfn(args)).code).toBe(0);
    });

    test("an unreachable runner is an error that names it, and nothing is printed", async () => {
      const other = `unix:${shared.workspace.path("other.sock")}`;
      const files = await write(shared.socket, other);
      await using _server = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      const { code, stdout, stderr } = await shared.workspace.xfn(["render", ...files, "--runner", "composition"]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("step-1");
      expect(stderr).toContain(other);
    });

    test("flags without effect are usage errors", async () => {
      const files = await write(shared.socket);
      const wrong = [
        ["--runner-token-file", "x"],
        ["--runner", shared.socket, "--registry", "localhost:5000"],
        ["--runner", "nonsense"],
        ["--runner", shared.socket, "--runner-token-file", "/nowhere/token"],
      ];
      for (const flags of wrong) {
        expect(await shared.workspace.xfn(["render", ...files, ...flags]), flags.join(" ")).toMatchObject({
          code: 2,
          stdout: "",
        });
      }
    });
  });

  describe("run", () => {
    test("passes input and output unchanged", async () => {
      const file = await shared.workspace.write("input", "cat\n\u0000any bytes");
      expect(await xfnRunner(shared.workspace, ["run", SHELL, file])).toMatchObject({
        code: 0,
        stdout: "\u0000any bytes",
        stderr: expect.not.stringContaining("error"),
      });
      const historic = [
        "run",
        SHELL,
        "--image-pull-policy=never",
        "--network-policy=Isolated",
        "--map-root-uid=100000",
      ];
      const piped = await xfnRunner(shared.workspace, historic, { input: "echo $((6*7)); echo said >&2\n" });
      expect(piped).toMatchObject({ code: 0, stdout: "42\n" });
      expect(piped.stderr).toContain("function: said");
    });

    test("a failed run exits with code 1 and no output, a usage error with code 2", async () => {
      const failed = await xfnRunner(shared.workspace, ["run", SHELL], { input: "echo half; exit 3\n" });
      expect(failed).toMatchObject({ code: 1, stdout: "" });
      expect(failed.stderr).toContain("code 3");
      const late = await xfnRunner(shared.workspace, ["run", SHELL, "--timeout", "200ms"], { input: "sleep 100\n" });
      expect(late).toMatchObject({ code: 1, stdout: "" });
      const wrong = [
        ["run"],
        ["run", SHELL, "--timeout", "soon"],
        ["run", SHELL, "missing.yaml"],
        ["run", "A B"],
        ["go"],
      ];
      for (const args of wrong) expect((await xfnRunner(shared.workspace, args)).code, args.join(" ")).toBe(2);
    });

    test("an interrupt ends the container and exits with code 130", async () => {
      const marker = shared.workspace.path("marked", "asked");
      const script = `#!/bin/sh\n: >${marker}\nexec crun "$@"\n`;
      const runtime = await shared.workspace.write("marked/crun", script, { mode: 0o755 });
      const args = ["run", SHELL, "--oci-runtime", runtime];
      const { child, finished } = shared.workspace.start([process.execPath, RUNNER_MAIN, ...args], {
        input: "sleep 100\n",
      });
      await vi.waitFor(() => expect(existsSync(marker)).toBe(true), { timeout: 30_000 });
      child.kill("SIGINT");
      expect(await finished).toMatchObject({ code: 130, stdout: "" });
    });
  });
});
