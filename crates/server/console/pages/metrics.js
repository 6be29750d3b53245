export const Metrics = () => null;
