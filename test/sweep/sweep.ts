import type { Write, WriteFault } from "../harness/faulty-client.ts";
import { random, shuffled } from "./random.ts";
import { type Faults, type Place, runScenario, type Told } from "./run-scenario.ts";
import type { Scenario } from "./scenario.ts";
import { differences } from "./snapshot.ts";

/** What goes wrong at one write of a scenario: crashes, a leader that has gone, whose write comes late or after people have changed their minds, a refusal. */
const POINTS: readonly WriteFault[] = [
  { kind: "crash", point: "before" },
  { kind: "crash", point: "after-commit" },
  { kind: "crash", point: "after-reply" },
  { kind: "late" },
  { kind: "very-late" },
  { kind: "conflict" },
];

// What a dead controller wanted before people changed their minds, and arrives after the next step: an object that is created then
// is one too many, and nobody can prevent that. But there must be no second one, nor may what others wrote be lost.
const VERY_LATE = /is a second|lost its reference|steady, and yet/;

/** What a random schedule draws from. */
const MISFORTUNES: readonly WriteFault[] = [
  ...POINTS.filter(({ kind }) => kind !== "very-late" && kind !== "conflict"),
  { kind: "lost-reply" },
  { kind: "conflict" },
  { kind: "busy" },
  { kind: "unreachable" },
];

// One write in five, and no more than six: after that the controllers are left in peace.
const MISFORTUNE = 1 / 5;
const MOST_MISFORTUNES = 6;

/** One run that is to come to the same as the undisturbed one. */
export interface Case {
  readonly scenario: Scenario;
  /** What tells it from others of the scenario: `write 3, crash before`, or `schedule 17`. */
  readonly name: string;
  readonly faults: () => Faults;
  /** Which problems count. Default: all, and what is different from the undisturbed run. */
  readonly only?: RegExp | undefined;
}

/** What was wrong with a case. */
export interface Failure {
  readonly scenario: string;
  readonly name: string;
  readonly problems: readonly string[];
}

/** Runs without faults: what all others are held against. */
export class Baselines {
  readonly #place: Place;
  readonly #told = new Map<Scenario, Promise<Told>>();

  constructor(place: Place) {
    this.#place = place;
  }

  /** @throws {Error} where a scenario does not come to what it says, or does something that must not be */
  of(scenario: Scenario): Promise<Told> {
    const told = this.#told.get(scenario) ?? this.#tell(scenario);
    this.#told.set(scenario, told);
    return told;
  }

  async #tell(scenario: Scenario): Promise<Told> {
    const told = await runScenario(scenario, this.#place, { faultAt: () => undefined }, true);
    if (told.problems.length > 0) throw new Error(told.problems.join("\n"));
    return told;
  }
}

/** All crashes of a scenario: at each of its writes, at each point. */
export async function crashes(scenario: Scenario, baselines: Baselines): Promise<Case[]> {
  const { writes } = await baselines.of(scenario);
  // What is tried again and again because the server refuses it, a hundred times while a CRD goes: the first and the last of these.
  const distinct = writes.filter((write, at) => {
    const isAgain = (other: Write | undefined): boolean => other?.answer.refused === true && isSame(write, other);
    return !(write.answer.refused && isAgain(writes[at - 1]) && isAgain(writes[at + 1]));
  });
  return distinct.flatMap(({ number }) =>
    POINTS.map((fault) => ({
      scenario,
      name: `write ${number}, ${describe(fault)}`,
      only: fault.kind === "very-late" ? VERY_LATE : undefined,
      faults: () => ({ faultAt: (write: Write) => (write.number === number ? fault : undefined) }),
    })),
  );
}

/** A schedule of faults, chosen by a seed: the same seed is the same schedule, as far as the server answers in the same order. */
export function schedule(scenarios: readonly Scenario[], seed: number): Case {
  const [scenario] = shuffled(scenarios, random(seed));
  if (scenario === undefined) throw new Error("there are no scenarios");
  return {
    scenario,
    name: `schedule ${seed}`,
    faults: () => {
      const next = random(seed + 1);
      let left = MOST_MISFORTUNES;
      return {
        disorder: next,
        faultAt: () => {
          if (left === 0 || next() > MISFORTUNE) return undefined;
          left--;
          return MISFORTUNES[Math.floor(next() * MISFORTUNES.length)];
        },
      };
    },
  };
}

/** Runs cases, some at a time. Returns what was wrong. */
export async function sweep(
  cases: readonly Case[],
  place: Place,
  baselines: Baselines,
  options: {
    readonly concurrency: number;
    readonly onCase?: (done: number, failure: Failure | undefined) => void;
    /** Asked before each case. */
    readonly isEnough?: () => boolean;
  },
): Promise<Failure[]> {
  const failures: Failure[] = [];
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    for (let one = cases[next++]; one !== undefined; one = cases[next++]) {
      if (options.isEnough?.() === true) return;
      const problems = await problemsOf(one, place, baselines);
      const failure = problems.length === 0 ? undefined : { scenario: one.scenario.name, name: one.name, problems };
      if (failure !== undefined) failures.push(failure);
      options.onCase?.(++done, failure);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return failures;
}

async function problemsOf({ scenario, faults, only }: Case, place: Place, baselines: Baselines): Promise<string[]> {
  const expected = await baselines.of(scenario);
  try {
    const told = await runScenario(scenario, place, faults(), false);
    if (only !== undefined) return told.problems.filter((problem) => only.test(problem));
    const different = expected.snapshots.flatMap((snapshot, index) =>
      differences(snapshot, told.snapshots[index] ?? new Map()).map(
        (line) => `after "${scenario.steps[index]?.name}": ${line}`,
      ),
    );
    return [...told.problems, ...different];
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

function isSame(one: Write, other: Write): boolean {
  const told = ({ verb, object, subresource }: Write): string => JSON.stringify([verb, object, subresource]);
  return told(one) === told(other);
}

function describe(fault: WriteFault): string {
  return fault.kind === "crash" ? `crash ${fault.point.replace("-", " ")}` : fault.kind.replace("-", " ");
}
