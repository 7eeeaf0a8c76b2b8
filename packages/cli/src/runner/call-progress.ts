import { oneLine } from "@xfn/program/terminal-text";
import { DEFAULT_TIMEOUT_MS, type FunctionRunner, type RunPhase } from "@xfn/runner-contract";

/** The state of the current call of a runner, for a status line. */
export class CallProgress {
  #title = "starting";

  /** The current phase, such as `step "db" runs (timeout 10 s)`. */
  readonly title = (): string => this.#title;

  /** Names the step that runs now. A call through {@link observe} replaces this by its phases. */
  readonly begin = ({ name }: { readonly name: string }): void => {
    this.#title = `step ${JSON.stringify(oneLine(name, 60))} runs`;
  };

  /** A runner whose calls change {@link title}. */
  observe(runner: FunctionRunner): FunctionRunner {
    const { maxOutputBytes } = runner;
    return {
      ...(maxOutputBytes !== undefined && { maxOutputBytes }),
      run: async (image, input, options = {}) => {
        const subject =
          options.step === undefined ? oneLine(image, 100) : `step ${JSON.stringify(oneLine(options.step, 60))}`;
        const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
        // The title after each phase. A remote runner reports all phases at the end.
        const following: Record<RunPhase, string> = {
          pull: `${subject} starts its container`,
          start: `${subject} runs (timeout ${timeoutMs / 1000} s)`,
          run: `${subject} has ended`,
        };
        this.#title = `${subject} waits for its image or runner`;
        const onPhase = (phase: RunPhase, ms: number): void => {
          this.#title = following[phase];
          options.onPhase?.(phase, ms);
        };
        return runner.run(image, input, { ...options, onPhase });
      },
    };
  }
}
