export const Vectors = () => null;
