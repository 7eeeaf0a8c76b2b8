/** Options of a {@link CodedError}. */
export interface CodedErrorOptions {
  readonly cause?: unknown;
  /** Whether the same call can succeed later. Default: false. */
  readonly retryable?: boolean | undefined;
}

/**
 * An error of a library. Its `name` recognises it even if two copies of a package are loaded. `code` is for programs.
 */
export abstract class CodedError<Code extends string> extends Error {
  abstract override readonly name: string;
  readonly code: Code;
  /** Whether the same call can succeed later. */
  readonly retryable: boolean;

  constructor(code: Code, message: string, options: CodedErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable === true;
  }
}
