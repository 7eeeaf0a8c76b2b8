import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { consoleCommands, fencedBlocks } from "../harness/fenced-blocks.ts";
import { type Need, needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { buildExampleImages, exampleImages, pretendCheckout, runCommand } from "../harness/pretend-checkout.ts";
import { Workspace } from "../harness/workspace.ts";

// Runs the commands in the README of every example.

/** The expected output of the renders of a README, in order. */
interface Render {
  /** A file in the folder of the README with the expected stdout. */
  stdout: string;
  stderr?: string;
  code?: number;
}

const EXAMPLES: { [folder: string]: { needs?: Need[]; renders: Render[] } } = {
  templates: {
    // Templates alone, without containers.
    needs: [],
    renders: [
      { stdout: "expected.yaml" },
      { stdout: "expected-observed.yaml", stderr: "xfn: would be deleted: firewall-rule\n" },
    ],
  },
  "templates-and-function": { renders: [{ stdout: "expected.yaml" }] },
  quickstart: { renders: [{ stdout: "expected.yaml" }] },
  conditional: {
    renders: [
      { stdout: "expected.yaml" },
      { stdout: "expected-fixed.yaml", stderr: "xfn: would be deleted: autoscaler\n" },
    ],
  },
  config: { renders: [{ stdout: "expected.yaml" }] },
  delete: { renders: [{ stdout: "expected.yaml", stderr: "xfn: would be deleted: machine\n" }] },
  go: { needs: ["crun", "go"], renders: [{ stdout: "expected.yaml" }] },
  loop: {
    renders: [
      { stdout: "expected.yaml" },
      { stdout: "expected-scale-down.yaml", stderr: "xfn: would be deleted: disk-2\n" },
    ],
  },
  operation: { renders: [{ stdout: "expected.yaml" }] },
  python: { needs: ["crun", "python3"], renders: [{ stdout: "expected.yaml" }] },
  shell: { renders: [{ stdout: "expected.yaml" }] },
  testing: {
    renders: [
      {
        stdout: "expected.yaml",
        stderr:
          'xfn: warning: step "firewall": allow cloud: 0.0.0.0 lets in every tenant of the cloud; this is deprecated\n',
      },
    ],
  },
  validate: {
    renders: [
      {
        stdout: "expected.yaml",
        stderr:
          'xfn: fatal: step "image-policy": cron-job: the image docker.io/someone/report:latest is not from registry.example.org\n',
        code: 1,
      },
    ],
  },
  wasm: { needs: ["go"], renders: [{ stdout: "expected.yaml" }] },
};

// Examples with an API server, with the tests that run the commands of their READMEs.
const ON_A_SERVER: readonly string[] = [
  // test/e2e/xfn-controller-page.long.cluster.test.ts
  "controller",
  // test/e2e/controller-packages-page.long.cluster.test.ts
  "packages",
  // test/e2e/provider-nop.cluster.test.ts
  "provider-nop",
];

const FOLDER = join(CHECKOUT, "examples");

let workspace: Workspace;

beforeAll(async () => {
  workspace = await Workspace.create();
  await pretendCheckout(workspace);
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
});

describe.each(Object.entries(EXAMPLES))("examples/%s", (example, { needs: needed = ["crun"], renders }) => {
  describe("its README's commands", needs(...needed), () => {
    const blocks = fencedBlocks(readFileSync(join(FOLDER, example, "README.md"), "utf8"));
    const commands = blocks.flatMap(({ text }) => consoleCommands(text)).map(({ command }) => command);
    const renderCommands = commands.filter((command) => /^\.\/xfn (?:operation )?render /.test(command));

    // The launcher does this before the first render.
    beforeAll(async () => {
      await buildExampleImages(workspace, example);
      for (const command of commands.filter((command) => !renderCommands.includes(command))) {
        const { code, stderr } = await runCommand(workspace, command);
        expect({ command, code, stderr }).toMatchObject({ code: 0 });
      }
    });

    test("each render is a case", () => {
      expect(renderCommands).toHaveLength(renders.length);
    });

    test.each(renders.map((render, index) => ({ ...render, command: renderCommands[index] ?? "" })))(
      "$command prints $stdout",
      async ({ command, stdout, stderr = "", code = 0 }) => {
        const expected = readFileSync(join(FOLDER, example, stdout), "utf8");
        expect(await runCommand(workspace, command)).toMatchObject({ code, stdout: expected, stderr });
      },
    );
  });
});

describe("examples", () => {
  test("each folder is run by this test, or by a test with an API server", () => {
    const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map((folder) => folder.name).toSorted()).toEqual(
      [...Object.keys(EXAMPLES), ...ON_A_SERVER].toSorted(),
    );
  });

  const definitions = exampleImages().flatMap(({ folder }) => {
    const types = join(folder, "types.ts");
    const definition = join(folder.split("/")[0] ?? "", "definition.yaml");
    return readdirSync(join(FOLDER, folder)).includes("types.ts") ? [{ types, definition }] : [];
  });

  test.each(definitions)("$types equals the output of xfn types for $definition", async ({ types, definition }) => {
    const generated = await workspace.xfn(["types", `examples/${definition}`]);
    expect(generated).toMatchObject({ code: 0, stdout: readFileSync(join(FOLDER, types), "utf8") });
  });

  test("the shell functions use the same json.awk", () => {
    const copies = ["quickstart/functions/network-policy", "shell/functions/sandbox"];
    const [first, second] = copies.map((folder) => readFileSync(join(FOLDER, folder, "json.awk"), "utf8"));
    expect(first).toBe(second);
  });
});
