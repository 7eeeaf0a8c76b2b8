export { DurationError, parseDuration } from "./duration.ts";
export {
  parseQuantity,
  type Quantity,
  QuantityError,
  quantityToBytes,
  quantityToCores,
  quantityToFloat64,
} from "./quantity.ts";
