import type { Write, WriteFault } from "../harness/faulty-client.ts";
import { random, shuffled } from "./random.ts";
import { type Faults, type RunResult, runScenario, type Testbed } from "./run-scenario.ts";
import type { Scenario } from "./scenario.ts";
import { differences } from "./snapshot.ts";

/** The faults at one write of a scenario: crashes, late writes of an earlier leader, and a conflict. */
const POINTS: readonly WriteFault[] = [
  { kind: "crash", point: "before" },
  { kind: "crash", point: "after-commit" },
  { kind: "crash", point: "after-reply" },
  { kind: "late" },
  { kind: "very-late" },
  { kind: "conflict" },
];

// A very late write of a dead controller may create an object that the next step made superfluous, which cannot be
// prevented. But it must not create a second object of an entry, nor lose another writer's fields.
const VERY_LATE = /is a second|lost its reference|steady, and yet/;

/** The faults of a random schedule. */
const SCHEDULE_FAULTS: readonly WriteFault[] = [
  ...POINTS.filter(({ kind }) => kind !== "very-late" && kind !== "conflict"),
  { kind: "lost-reply" },
  { kind: "conflict" },
  { kind: "busy" },
  { kind: "unreachable" },
];

// One write in five fails, up to six: then the controllers must converge.
const FAULT_RATE = 1 / 5;
const MAX_FAULTS = 6;

/** One run, which must have the same result as the undisturbed one. */
export interface Case {
  readonly scenario: Scenario;
  /** Identifies it within the scenario: `write 3, crash before`, or `schedule 17`. */
  readonly name: string;
  readonly faults: () => Faults;
  /** The problems that count. Default: all, and every difference from the undisturbed run. */
  readonly only?: RegExp | undefined;
}

/** A failed case. */
export interface Failure {
  readonly scenario: string;
  readonly name: string;
  readonly problems: readonly string[];
}

/** The undisturbed runs, with which the others are compared. */
export class Baselines {
  readonly #testbed: Testbed;
  readonly #results = new Map<Scenario, Promise<RunResult>>();

  constructor(testbed: Testbed) {
    this.#testbed = testbed;
  }

  /** @throws {Error} if a scenario has another result than it expects, or violates a guarantee */
  of(scenario: Scenario): Promise<RunResult> {
    const result = this.#results.get(scenario) ?? this.#run(scenario);
    this.#results.set(scenario, result);
    return result;
  }

  async #run(scenario: Scenario): Promise<RunResult> {
    const result = await runScenario(scenario, this.#testbed, { faultAt: () => undefined }, true);
    if (result.problems.length > 0) throw new Error(result.problems.join("\n"));
    return result;
  }
}

/** The crashes of a scenario, at each of its writes and each point. */
export async function crashes(scenario: Scenario, baselines: Baselines): Promise<Case[]> {
  const { writes } = await baselines.of(scenario);
  // A refused write may be repeated a hundred times while a CRD is deleted: take the first and the last attempt.
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

/** A schedule of faults from a seed. The same seed is the same schedule if the server answers in the same order. */
export function schedule(scenarios: readonly Scenario[], seed: number): Case {
  const [scenario] = shuffled(scenarios, random(seed));
  if (scenario === undefined) throw new Error("there are no scenarios");
  return {
    scenario,
    name: `schedule ${seed}`,
    faults: () => {
      const next = random(seed + 1);
      let remaining = MAX_FAULTS;
      return {
        disorder: next,
        faultAt: () => {
          if (remaining === 0 || next() > FAULT_RATE) return undefined;
          remaining--;
          return SCHEDULE_FAULTS[Math.floor(next() * SCHEDULE_FAULTS.length)];
        },
      };
    },
  };
}

/** Runs cases concurrently. Returns the failures. */
export async function sweep(
  cases: readonly Case[],
  testbed: Testbed,
  baselines: Baselines,
  options: {
    readonly concurrency: number;
    readonly onCase?: (done: number, failure: Failure | undefined) => void;
    /** Called before each case. */
    readonly isEnough?: () => boolean;
  },
): Promise<Failure[]> {
  const failures: Failure[] = [];
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    for (let one = cases[next++]; one !== undefined; one = cases[next++]) {
      if (options.isEnough?.() === true) return;
      const problems = await problemsOf(one, testbed, baselines);
      const failure = problems.length === 0 ? undefined : { scenario: one.scenario.name, name: one.name, problems };
      if (failure !== undefined) failures.push(failure);
      options.onCase?.(++done, failure);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return failures;
}

async function problemsOf({ scenario, faults, only }: Case, testbed: Testbed, baselines: Baselines): Promise<string[]> {
  const expected = await baselines.of(scenario);
  try {
    const result = await runScenario(scenario, testbed, faults(), false);
    if (only !== undefined) return result.problems.filter((problem) => only.test(problem));
    const different = expected.snapshots.flatMap((snapshot, index) =>
      differences(snapshot, result.snapshots[index] ?? new Map()).map(
        (line) => `after "${scenario.steps[index]?.name}": ${line}`,
      ),
    );
    return [...result.problems, ...different];
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

function isSame(one: Write, other: Write): boolean {
  const textOf = ({ verb, object, subresource }: Write): string => JSON.stringify([verb, object, subresource]);
  return textOf(one) === textOf(other);
}

function describe(fault: WriteFault): string {
  return fault.kind === "crash" ? `crash ${fault.point.replace("-", " ")}` : fault.kind.replace("-", " ");
}
