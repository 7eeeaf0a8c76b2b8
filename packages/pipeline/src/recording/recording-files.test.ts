import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runOf, xr } from "../../testing/fixtures.ts";
import { addsBucket, recordingsFolder } from "../../testing/recordings.ts";
import { type Recording, readRecording, writeRecording } from "./index.ts";

const { folder, newPath, record, remove } = recordingsFolder();
afterAll(remove);

describe("the files", () => {
  const made = async (): Promise<string> =>
    (await record(runOf(addsBucket, addsBucket), { composite: xr(), composition: "stores" })).path;
  const codeOf = (path: string): unknown => {
    try {
      return readRecording(path);
    } catch (error) {
      return (error as { code?: unknown }).code;
    }
  };

  test("are for their owner alone, replace an earlier recording, and leave no other files", async () => {
    const path = await made();
    expect(lstatSync(path).mode & 0o777).toBe(0o700);
    expect(readdirSync(path)).toEqual(["01-step-1.yaml", "02-step-2.yaml", "recording.yaml"]);
    for (const name of readdirSync(path)) expect(lstatSync(join(path, name)).mode & 0o777).toBe(0o600);
    const { recording } = await record(runOf(addsBucket));
    writeRecording(path, recording);
    expect(readdirSync(path)).toEqual(["01-step-1.yaml", "recording.yaml"]);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("replace no other files, no link and no file", async () => {
    const { recording } = await record(runOf(addsBucket));
    const other = newPath();
    mkdirSync(other);
    writeFileSync(join(other, "recording.yaml"), "mine");
    const own = await made();
    writeFileSync(join(own, "notes.md"), "mine");
    const link = newPath();
    symlinkSync(await made(), link);
    const file = newPath();
    writeFileSync(file, "");
    for (const path of [other, own, link, file])
      expect(() => writeRecording(path, recording)).toThrow(
        expect.objectContaining({ code: "NotARecording" }) as Error,
      );
    expect(readFileSync(join(own, "notes.md"), "utf8")).toBe("mine");
  });

  test("a step's name is not a path", async () => {
    const hostile = ["../../etc/passwd", "..", "/", "a\nb"];
    const { recording } = await record(runOf(addsBucket));
    const [step] = recording.steps;
    const path = newPath();
    writeRecording(path, {
      ...recording,
      steps: hostile.map((name) => Object.assign({}, step, { name })),
    } as Recording);
    expect(readdirSync(path)).toEqual([
      "01-etc-passwd.yaml",
      "02-step.yaml",
      "03-step.yaml",
      "04-a-b.yaml",
      "recording.yaml",
    ]);
    expect(readRecording(path).steps.map(({ name }) => name)).toEqual(hostile);
  });

  test.each<[string, (path: string) => void, string]>([
    ["is missing", (path) => rmSync(join(path, "recording.yaml")), "NotARecording"],
    ["has another format", (path) => writeFileSync(join(path, "recording.yaml"), "format: x\n...\n"), "NotARecording"],
    [
      "has another version",
      (path) => writeFileSync(join(path, "recording.yaml"), "format: xfn-recording\nversion: 2\n...\n"),
      "UnsupportedVersion",
    ],
    ["has no step file", (path) => rmSync(join(path, "02-step-2.yaml")), "Unreadable"],
    [
      "has a link",
      (path) => {
        rmSync(join(path, "02-step-2.yaml"));
        symlinkSync("/etc/passwd", join(path, "02-step-2.yaml"));
      },
      "Unreadable",
    ],
    [
      "has a folder as a step",
      (path) => {
        rmSync(join(path, "02-step-2.yaml"));
        mkdirSync(join(path, "02-step-2.yaml"));
      },
      "Unreadable",
    ],
    ["is cut off", (path) => truncateSync(join(path, "02-step-2.yaml"), 200), "Invalid"],
    ["is 100 MB", (path) => truncateSync(join(path, "02-step-2.yaml"), 100_000_000), "TooLarge"],
    ["is not YAML", (path) => writeFileSync(join(path, "02-step-2.yaml"), "a: {\n...\n"), "Invalid"],
    [
      "has another step",
      (path) => writeFileSync(join(path, "02-step-2.yaml"), "step: other\ncalls: []\n...\n"),
      "Invalid",
    ],
    [
      "has no calls",
      (path) => writeFileSync(join(path, "02-step-2.yaml"), "step: step-2\ntype: Function\ncalls: []\n...\n"),
      "Invalid",
    ],
  ])("a recording that %s", async (_, change, code) => {
    const path = await made();
    change(path);
    expect(codeOf(path)).toBe(code);
  });
});
