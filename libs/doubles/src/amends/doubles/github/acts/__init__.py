"""What people and programs do on GitHub. REST, GraphQL, git and tests come in through different doors to the same acts:
each checks what GitHub checks, changes the state, and tells what happened.
"""
