import { readFile, writeFile } from "node:fs/promises";
import type { Scenario } from "./scenario.ts";
import type { Baselines } from "./sweep.ts";
import type { Transcript } from "./transcript.ts";

const FILE = new URL("transcripts.json", import.meta.url);

/** The recorded transcripts of the undisturbed runs, by the name of the scenario. */
export async function readTranscripts(): Promise<Readonly<Record<string, Transcript>>> {
  return JSON.parse(await readFile(FILE, "utf8")) as Record<string, Transcript>;
}

/** Records the transcripts of all scenarios anew. */
export async function recordTranscripts(
  baselines: Baselines,
  scenarios: readonly Scenario[],
  concurrency: number,
): Promise<void> {
  const transcripts = new Map<string, Transcript>();
  const rest = scenarios.values();
  const work = async (): Promise<void> => {
    for (const scenario of rest) transcripts.set(scenario.name, (await baselines.of(scenario)).transcript);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const ordered = Object.fromEntries(scenarios.map(({ name }) => [name, transcripts.get(name)]));
  await writeFile(FILE, `${JSON.stringify(ordered, undefined, 2)}\n`);
}
